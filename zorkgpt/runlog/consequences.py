"""Says in a few words what a turn has changed for the player, for every list of turns that a model reads."""

from collections import Counter

from zorkgpt.runlog.events import TurnPlayed


def consequences(turn: TurnPlayed) -> str:
    """Return the change of score, what was gained and lost, and a death: "score 5 to 15, gained lamp"; "" if nothing.

    What is inside something carried is neither gained nor lost.
    """
    told = []
    if turn.score is not None and turn.score_before is not None and turn.score != turn.score_before:
        told.append(f"score {turn.score_before} to {turn.score}")
    if turn.carried_before is not None:
        held = {number for number, _, _ in turn.carried_before}
        before = Counter(_name(name) for _, name, holder in turn.carried_before if holder not in held)
        after = Counter(map(_name, turn.inventory))
        if gained := list((after - before).elements()):
            told.append(f"gained {', '.join(gained)}")
        if lost := list((before - after).elements()):
            told.append(f"lost {', '.join(lost)}")
    if turn.died:
        told.append("the player died")
    return ", ".join(told)


def _name(name: str) -> str:
    return " ".join(name.replace("`", "'").replace(",", " ").split())
