"""Where everything lies in a game as it stands, in the words of the memory's audit."""

from game_interface.core.jericho_interface import JerichoInterface
from zorkgpt.memory.upkeep.audit import Thing


def things_of(game: JerichoInterface) -> tuple[Thing, ...]:
    """Every object that has a name, the player and what it holds left out; those of no room too."""
    view, profile = game.memory, game.profile
    found = []
    for number in range(1, view.machine.object_count + 1):
        name, above = view.name(number), view.ancestors(number)
        if not name or profile.player in (number, *above):
            continue
        if profile.rooms_parent:
            # What is not below it, is out of the world.
            above = above[: above.index(profile.rooms_parent)] if profile.rooms_parent in above else ()
        room = above[-1] if above and view.name(above[-1]) else None
        named = profile.named_attributes(view, number)
        found.append(
            Thing(
                number,
                name,
                room,
                view.name(room) if room else "",
                above[0] if len(above) > 1 else None,
                named.get("takeable", False) or named.get("animate", False),
                game.thing(number).states,
            )
        )
    return tuple(found)
