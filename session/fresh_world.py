"""Where everything lies in a game as it stands, in the words of the memory's audit."""

from game_interface.core.jericho_interface import JerichoInterface
from zorkgpt.memory.upkeep.audit import Thing


def things_of(game: JerichoInterface) -> tuple[Thing, ...]:
    """Every object that is in a room, the player and what it holds left out."""
    view, profile = game.memory, game.profile
    found = []
    for number in range(1, view.machine.object_count + 1):
        above = view.ancestors(number)
        if profile.rooms_parent:
            # What is not below it, is out of the world.
            above = above[: above.index(profile.rooms_parent)] if profile.rooms_parent in above else ()
        if not above or profile.player in (number, *above):
            continue
        name, room = view.name(number), above[-1]
        if name and view.name(room):
            portable = profile.named_attributes(view, number).get("takeable", False)
            found.append(Thing(name, room, view.name(room), portable))
    return tuple(found)
