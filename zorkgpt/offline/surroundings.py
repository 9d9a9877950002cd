"""What a place offers besides its things and exits: where something can be put, and what its text suggests."""

from collections.abc import Iterator

from game_interface.language import Language, Scene
from game_interface.models import Observation
from zorkgpt.offline.advice import HELP, advice_in
from zorkgpt.offline.candidates import Nouns
from zorkgpt.player import PlayerContext
from zorkgpt.text import normalized_action


def holders(now: Observation, scene: Scene | None, nouns: Nouns) -> Iterator[str]:
    """Yield where things can be put here: "in case", "on table"."""
    if scene is None:
        return
    for item in now.visible or ():
        told, name = scene.attributes.get(item.num, {}), nouns.name(item)
        if not name or told.get("takeable") or told.get("animate"):
            continue
        if told.get("container") and told.get("open"):
            yield f"in {name}"
        elif told.get("supporter"):
            yield f"on {name}"


def suggestions(
    context: PlayerContext, language: Language | None, scene: Scene | None, *, first_place: bool
) -> Iterator[str]:
    """Yield what the story suggests, and at the very beginning how to ask it.

    Args:
        first_place: whether no place but this one is known.
    """
    if context.turn == 1 and first_place and language:
        yield from (word for word in HELP if word in language.verbs)
    yield from map(normalized_action, advice_in(context.response, language, scene))
