"""Find the place or memory that a user names on the command line."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING

from zorkgpt.errors import MemoryEditError
from zorkgpt.memory.ids import is_named_by
from zorkgpt.memory.models import MemoryStatus
from zorkgpt.memory.places import is_place, parse_place, place_in_words, place_label, place_order, place_text
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.lasting import Filters

if TYPE_CHECKING:
    from zorkgpt.memory.manager import SimpleMemoryManager
    from zorkgpt.memory.models import SubjectKey

_MAX_CANDIDATES = 10
_STRAIGHT_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"') | dict.fromkeys("‘’‚", "'"))


def find_place(names: Mapping["SubjectKey", str], text: str) -> "SubjectKey":
    """Return the place or other subject with this number, key, name or unique prefix of a name.

    A number or a quoted key doesn't have to be in `names`.

    Raises:
        MemoryEditError: If no place matches, or several do. The message lists them.
    """
    subject = None
    with suppress(ValueError):
        subject = parse_place(text.strip())
    if subject is not None and (is_place(subject) or subject in names):
        return subject
    if text in names:
        return text
    wanted = _folded(text)
    if not wanted:
        raise MemoryEditError("The location is blank. Give its name or number.")
    found = [key for key, name in names.items() if _folded(name) == wanted]
    found = found or [key for key, name in names.items() if _folded(name or place_text(key)).startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if subject is not None and not found:
        return subject
    if found:
        labels = [place_label(key, names[key]) for key in sorted(found, key=place_order)]
        raise MemoryEditError(f"Several locations match {text!r}. Give the number of one:{_listed(labels)}")
    by_name = {_folded(name): place_label(key, name) for key, name in names.items()}
    near = [by_name[name] for name in get_close_matches(wanted, by_name, n=3)]
    suggestion = f" Did you mean{_listed(near)}" if near else ""
    raise MemoryEditError(f"No location is called {text!r}.{suggestion}")


def find_memories(
    manager: "SimpleMemoryManager", text: str, place: "SubjectKey | None" = None, *, also_removed: bool = False
) -> list[LocatedMemory]:
    """Return the memories with this id or title, or else those whose title contains the text.

    Superseded memories are returned only if no current one matches. Curly and straight quotes are equal.

    Args:
        place: Search only this place.
        also_removed: Include memories that are only in the history.

    Raises:
        MemoryEditError: If no memory matches. The message suggests similar titles.
    """
    wanted = _folded(text)
    found = _candidates(manager, place, text.strip(), also_removed=also_removed)
    if not found:
        candidates = _candidates(manager, place, also_removed=also_removed)
        found = (
            [each for each in candidates if is_named_by(each.id, text.strip().casefold())]
            or [each for each in candidates if _folded(each.memory.title) == wanted]
            or [each for each in candidates if wanted and wanted in _folded(each.memory.title)]
        )
    if not found:
        where = "" if place is None else f" at {place_in_words(place)}"
        titles = {_folded(each.memory.title): _label(each) for each in candidates}
        near = [titles[title] for title in get_close_matches(wanted, titles, n=3, cutoff=0.5)]
        suggestion = f" Did you mean{_listed(near)}" if near else " List all with: memories show"
        raise MemoryEditError(f"No memory{where} has the id or title {text!r}.{suggestion}")
    return [each for each in found if each.memory.status is not MemoryStatus.SUPERSEDED] or found


def find_memory(manager: "SimpleMemoryManager", text: str, place: "SubjectKey | None" = None) -> LocatedMemory:
    """Return the only memory that `find_memories` finds.

    Raises:
        MemoryEditError: If no memory matches, or several do. The message lists them with their ids.
    """
    found = find_memories(manager, text, place)
    if len(found) > 1:
        raise ambiguous(text, found)
    return found[0]


def ambiguous(text: str, found: Sequence[LocatedMemory]) -> MemoryEditError:
    """Return the error for a text that matches several memories."""
    return MemoryEditError(f"Several memories match {text!r}. Give the id of one:{_listed(list(map(_label, found)))}")


def contains(title: str, text: str) -> bool:
    """Return whether a title contains a text, ignoring case and the kind of quotes."""
    return _folded(text) in _folded(title)


def _candidates(
    manager: "SimpleMemoryManager", place: "SubjectKey | None", named: str | None = None, *, also_removed: bool
) -> list[LocatedMemory]:
    """Return the memories with this id or title, or all memories if None."""
    store = manager.store
    candidates = {}
    for at, memory in store.lasting.find(Filters(place, named=named, with_past=True)):
        located = LocatedMemory(at, store.lasting.heading(at).name, memory)
        candidates[located.location_id, located.id] = located
    for record in store.journal.past(named, place) if also_removed else ():
        change = record.change
        for memory in filter(None, (change.after, change.before)):
            located = LocatedMemory(change.location_id, change.location_name, memory)
            candidates.setdefault((located.location_id, located.id), located)
    return list(candidates.values())


def _label(located: LocatedMemory) -> str:
    return f"{located.id}  {located.memory.title}, {place_label(located.location_id, located.location_name)}"


def _folded(text: str) -> str:
    return " ".join(text.translate(_STRAIGHT_QUOTES).casefold().split())


def _listed(lines: list[str]) -> str:
    more = len(lines) - _MAX_CANDIDATES
    shown = lines[:_MAX_CANDIDATES] + ([f"and {more} more"] if more > 0 else [])
    return "".join(f"\n  {line}" for line in shown)
