"""Record the result of the rules player's last action, and the things and actions at its place."""

import re
from collections.abc import Sequence

from session.experience import ActionResult
from zorkgpt.directions import canonical_direction, exit_name
from zorkgpt.offline.candidates import WAIT
from zorkgpt.offline.offers import Offer, holders, note_offers
from zorkgpt.offline.phrases import is_laden, topics_in
from zorkgpt.offline.view import TurnView
from zorkgpt.record.experience import ExperienceRow


def observe_result(turn: TurnView) -> None:
    """Record the result of the last action."""
    notes = turn.notes
    notes.wanted = notes.take_back = None
    last = turn.episode.last
    if last is None:
        return
    _note_gains(turn, last)
    failed = last.stayed and last.action in map(exit_name, turn.context.failed_here)
    _note_words(turn, last, failed=failed)
    is_over, changed = not last.stayed or last.points != 0, bool(turn.context.changed)
    turn.episode.plan.note(last.place, last.action, failed=failed, changed=changed, is_over=is_over)


def _note_words(turn: TurnView, last: ExperienceRow, *, failed: bool) -> None:
    """Record the topics in the response, and discard words that can't be named in commands."""
    for word in topics_in(turn.context.response):
        turn.notes.topics.pop(word, None)
        turn.notes.topics[word] = None
    if failed and last.shows(ActionResult.REFUSED):
        for name in turn.episode.nouns.analyzed(last.action).names:
            turn.place.mentioned.pop(name, None)


def _note_gains(turn: TurnView, last: ExperienceRow) -> None:
    """Record things that score or give light, and actions that failed because the player carries too much."""
    notes, stayed, response = turn.notes, last.stayed, turn.context.response
    scored = last.points > 0
    verb, _, rest = last.action.partition(" ")
    if verb == "take":
        if scored:
            notes.valued.add(rest)
        if stayed and is_laden(response):
            notes.wanted = last.action
    elif verb == "put":
        thing = re.split(" (?:in|on) ", rest)[0]
        if scored:
            # Things that scored in a place stay there.
            notes.given_up.add(thing)
        elif stayed and thing not in turn.names(turn.context.observation.inventory):
            notes.take_back = thing
    elif stayed and (canonical_direction(last.action) or notes.walking) and is_laden(response):
        notes.wanted = last.action
    elif last.action.startswith("turn on ") and turn.context.changed:
        notes.lamp = last.action.removeprefix("turn on ")
        notes.useful.add(notes.lamp)


def observe_place(turn: TurnView, offers: Sequence[Offer]) -> None:
    """Record the things at this place, and the actions to try."""
    notes = turn.notes
    if notes.walking and notes.walking[0] == turn.here:
        notes.blocked.add(notes.walking)
    notes.walking = None
    turn.episode.touched.add(turn.here)
    turn.place.learn(turn.episode.recall(turn.here))
    if turn.context.changed:
        # The cause of a blocked exit may be far away from it.
        notes.blocked.clear()
        turn.place.reopen(word for name in turn.names(turn.context.changed) for word in name.split())
    if turn.context.changed_by_themselves:
        turn.place.unmark(WAIT)
    _note_mentioned(turn)
    notes.held = tuple(turn.names(turn.context.observation.inventory))
    if turn.is_dark:
        turn.place.dark, notes.lamp = True, None
    notes.holders[turn.here] = list(holders(turn))
    note_offers(turn, offers)
    _give_up_target(turn)


def _note_mentioned(turn: TurnView) -> None:
    """Record the scenery in the text. After the arrival, only scenery that is here is recorded."""
    now, last, nouns = turn.context.observation, turn.episode.last, turn.episode.nouns
    mentioned = nouns.mentioned(turn.text, turn.scene, now.at_hand)
    if last is not None and canonical_direction(last.action) is None and last.stayed:
        here = turn.scene.here if turn.scene else frozenset[int]()
        mentioned = (noun for noun in mentioned if nouns.numbers(noun) & here)
    turn.place.mentioned |= dict.fromkeys(mentioned)


def _give_up_target(turn: TurnView) -> None:
    """Drop the target action at this place, unless it comes from a memory. If it can't be tried, mark it as done."""
    notes, place = turn.notes, turn.place
    if notes.target is None or notes.target[0] != turn.here:
        return
    action = notes.target[1]
    if action in place.remembered and action not in place.done:
        return
    if not action.startswith("put ") and action not in (offered for _, offered in place.left):
        place.mark(action)
    notes.target = None
