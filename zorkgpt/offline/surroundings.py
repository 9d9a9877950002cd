"""What a place offers besides its things and exits: where something can be put, and what its text suggests."""

from collections.abc import Iterator

from game_interface.models import Language, Observation, Scene
from zorkgpt.offline.advice import advice_in
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


def suggestions(context: PlayerContext, language: Language | None, scene: Scene | None) -> Iterator[str]:
    """Yield the actions that the story's text suggests."""
    yield from map(normalized_action, advice_in(context.response, language, scene))
