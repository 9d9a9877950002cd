"""Find the place or the memory that a person names on the command line."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from zorkgpt.errors import MemoryEditError
from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.places import is_place, parse_place, place_in_words, place_label, place_order, place_text

if TYPE_CHECKING:
    from zorkgpt.memory.manager import SimpleMemoryManager
    from zorkgpt.memory.models import Memory, SubjectKey

_MOST_CANDIDATES = 10
_STRAIGHT_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"') | dict.fromkeys("‘’‚", "'"))


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """A memory that may be meant."""

    place: "SubjectKey"
    place_name: str
    id: str
    title: str
    is_current: bool

    def __str__(self) -> str:
        return f"{self.id}  {self.title}, {place_label(self.place, self.place_name)}"


def find_place(names: Mapping["SubjectKey", str], text: str) -> "SubjectKey":
    """Return the place, or other subject, with this number, key, name or unique beginning of a name.

    A number or a key in quotation marks need not be among the names.

    Raises:
        MemoryEditError: If no place fits, or several do. The message lists them.
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
        raise MemoryEditError(f"Several locations fit {text!r}. Give the number of one:{_listed(labels)}")
    by_name = {_folded(name): place_label(key, name) for key, name in names.items()}
    near = [by_name[name] for name in get_close_matches(wanted, by_name, n=3)]
    suggestion = f" Did you mean{_listed(near)}" if near else ""
    raise MemoryEditError(f"No location is called {text!r}.{suggestion}")


def find_memories(
    manager: "SimpleMemoryManager", text: str, place: "SubjectKey | None" = None, *, also_removed: bool = False
) -> list[FoundMemory]:
    """Return the memories with this id or title, else those whose title contains the text.

    Of several, those that are believed. Curly and straight quotes count as the same.

    Args:
        place: Look at this place only.
        also_removed: Include memories that only the history knows.

    Raises:
        MemoryEditError: If no memory fits. The message suggests similar titles.
    """
    candidates = [one for one in _candidates(manager, also_removed=also_removed) if place is None or one.place == place]
    wanted = _folded(text)
    found = (
        [one for one in candidates if one.id == text.strip().casefold()]
        or [one for one in candidates if _folded(one.title) == wanted]
        or [one for one in candidates if wanted and wanted in _folded(one.title)]
    )
    if not found:
        where = "" if place is None else f" at {place_in_words(place)}"
        titles = {_folded(one.title): str(one) for one in candidates}
        near = [titles[title] for title in get_close_matches(wanted, titles, n=3, cutoff=0.5)]
        suggestion = f" Did you mean{_listed(near)}" if near else " List all with: memories show"
        raise MemoryEditError(f"No memory{where} has the id or title {text!r}.{suggestion}")
    return [one for one in found if one.is_current] or found


def find_memory(manager: "SimpleMemoryManager", text: str, place: "SubjectKey | None" = None) -> FoundMemory:
    """Return the only memory that `find_memories` finds.

    Raises:
        MemoryEditError: If no memory fits, or several do. The message lists them with their ids.
    """
    found = find_memories(manager, text, place)
    if len(found) > 1:
        raise ambiguous(text, found)
    return found[0]


def ambiguous(text: str, found: Sequence[FoundMemory]) -> MemoryEditError:
    """Return the error that lists the memories that a text may mean."""
    return MemoryEditError(f"Several memories fit {text!r}. Give the id of one:{_listed(list(map(str, found)))}")


def contains(title: str, text: str) -> bool:
    """Return whether a title contains a text, whatever the case and the kind of quotes."""
    return _folded(text) in _folded(title)


def _candidates(manager: "SimpleMemoryManager", *, also_removed: bool) -> Iterable[FoundMemory]:
    found = {
        (one.location_id, memory_id(one.location_id, one.memory)): _candidate(
            one.location_id, one.location_name, one.memory
        )
        for one in manager.all_memories()
    }
    if also_removed:
        for record in manager.store.journal.records():
            change = record.change
            for memory in (change.after, change.before):
                if memory is not None:
                    known = _candidate(change.location_id, change.location_name, memory)
                    found.setdefault((known.place, known.id), known)
    return found.values()


def _candidate(place: "SubjectKey", name: str, memory: "Memory") -> FoundMemory:
    is_current = memory.status != "SUPERSEDED"
    return FoundMemory(place, name, memory_id(place, memory), memory.title, is_current)


def _folded(text: str) -> str:
    return " ".join(text.translate(_STRAIGHT_QUOTES).casefold().split())


def _listed(lines: list[str]) -> str:
    more = len(lines) - _MOST_CANDIDATES
    shown = lines[:_MOST_CANDIDATES] + ([f"and {more} more"] if more > 0 else [])
    return "".join(f"\n  {line}" for line in shown)
