"""The actions that a place offers: each function yields those of one kind, and `OFFERS` lists them all."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain, islice

from game_interface.models import Item, Language
from session.outcome import is_passive
from zorkgpt.action_check import check_action
from zorkgpt.directions import canonical_direction, directions_in
from zorkgpt.identity_cache import cached_by_identity
from zorkgpt.offline import dangers
from zorkgpt.offline.advice import advice_in
from zorkgpt.offline.candidates import WAIT, Candidate, Nouns, Tier, exit_candidates
from zorkgpt.offline.grammar_tries import GrammarTry, commands, grammar_tries
from zorkgpt.offline.notes import PlaceNotes
from zorkgpt.offline.outcomes import ActionOutcome
from zorkgpt.offline.view import TurnView
from zorkgpt.text import normalized_action

# Kind, verb, needed attributes: if the meaning of any of these is known, the thing must have one of them, or not have
# it ("!").
_ActionPattern = tuple[Tier, str, tuple[str, ...]]
_ALONE: tuple[_ActionPattern, ...] = (
    (Tier.GATHER, "take", ("takeable",)),
    (Tier.OPEN, "open", ("openable",)),
    (Tier.INSPECT, "read", ("readable",)),
    (Tier.INSPECT, "examine", ("!takeable",)),
    (Tier.HANDLE, "enter", ("enterable", "vehicle", "door")),
    (Tier.HANDLE, "push", ("!takeable",)),
    (Tier.FIDDLE, "climb", ()),
    (Tier.FIDDLE, "pull", ("!takeable",)),
    (Tier.FIDDLE, "turn", ("!takeable",)),
)
_CARRIED: tuple[_ActionPattern, ...] = (
    (Tier.LIGHT, "turn on", ("switchable", "light")),
    (Tier.OPEN, "open", ("openable",)),
    (Tier.INSPECT, "read", ("readable",)),
    (Tier.INSPECT, "examine", ()),
)
_INSIDE: tuple[_ActionPattern, ...] = ((Tier.HANDLE, "take", ("takeable",)),)
_MENTIONED: tuple[_ActionPattern, ...] = (
    (Tier.INSPECT, "examine", ()),
    (Tier.HANDLE, "open", ("openable",)),
    (Tier.COMBINE, "enter", ("enterable", "vehicle", "door")),
    (Tier.COMBINE, "push", ()),
    (Tier.COMBINE, "climb", ()),
    (Tier.FIDDLE, "take", ("takeable",)),
)
_LIVING: tuple[_ActionPattern, ...] = ((Tier.GATHER, "take", ("takeable",)), (Tier.INSPECT, "examine", ()))
_FORMS = {"seen": _ALONE, "held": _CARRIED, "inside": _INSIDE, "mentioned": _MENTIONED, "living": _LIVING}
_VERBS = frozenset(verb for forms in _FORMS.values() for _, verb, _ in forms)
_UNKNOWN: Mapping[str, bool] = {}
_REMEDIES = ("eat ", "drink ")
_MAX_TOPICS = 5
_MAX_GRAMMAR = 6
"""The most commands of the story's grammar that a place offers at a time."""


def advice(turn: TurnView) -> Iterator[Candidate]:
    """Texts suggest commands ("You should get out of bed first"), so try them."""
    found = advice_in(turn.context.response, turn.language, turn.scene)
    turn.place.advice |= dict.fromkeys(map(normalized_action, found))
    yield from (Candidate(Tier.ADVICE, action) for action in turn.place.advice)


def exits(turn: TurnView) -> Iterator[Candidate]:
    """Exits lead to new places, especially those that the text names."""
    room, text = turn.graph.rooms.get(turn.here), turn.text
    mentioned = directions_in(text.replace(turn.context.observation.location_name, ""))
    named = {*(room.exits if room else ()), *mentioned, *{"up", "down"}.intersection(text.lower().split())}
    is_bare = turn.context.room_description is not None and not mentioned
    yield from exit_candidates(turn.episode.nouns, None if is_bare else named)


def usual_verbs(turn: TurnView) -> Iterator[Candidate]:
    """A few verbs cover most uses of things: take, open, read, push."""
    now, nouns = turn.context.observation, turn.episode.nouns
    in_hand = {item.num for item in now.inventory or ()}
    inside = [item for item in now.carried or () if item.num not in in_hand]
    attributes = turn.scene.attributes if turn.scene else {}
    understood = _understood(nouns)
    for items, how in ((now.visible, "seen"), (now.inventory, "held"), (inside, "inside")):
        for item in items or ():
            # What a creature holds is guarded.
            if (noun := nouns.name(item)) and not attributes.get(item.parent, _UNKNOWN).get("animate"):
                own = attributes.get(item.num, _UNKNOWN)
                yield from _of_thing(noun, _fitting(own)["living" if own.get("animate") else how], understood)
    for noun in turn.place.mentioned:
        own = next((attributes[number] for number in nouns.numbers(noun) if number in attributes), _UNKNOWN)
        yield from _of_thing(noun, _fitting(own)["seen" if own.get("takeable") else "mentioned"], understood)


def waiting(turn: TurnView) -> Iterator[Candidate]:
    """Something that moves or changes by itself may have a result, so wait for it."""
    if turn.context.changed_by_themselves:
        yield Candidate(Tier.WAIT, WAIT)


def keys(turn: TurnView) -> Iterator[Candidate]:
    """A carried thing may be the key to a lock."""
    held = dict.fromkeys(turn.names(turn.context.observation.inventory))
    yield from (Candidate(Tier.TOOL, f"unlock {lock} with {key}") for lock in turn.place.locked for key in held)


def tools(turn: TurnView) -> Iterator[Candidate]:
    """A refusal may name the missing tool ("It wants a blade"), so use a carried thing of that name."""
    now, nouns = turn.context.observation, turn.episode.nouns
    if turn.language is None or turn.scene is None or now.dark:
        return
    names_of = [set(nouns.analyzed(action).names) for action in turn.place.remembered]
    tries: list[GrammarTry] = []
    for action, tool in tools_wanted(turn.place, nouns, now.carried or ()):
        said = turn.place.all_refusals[action]
        obstacles = nouns.analyzed(action).names or nouns.mentioned(said, turn.scene, now.carried or ())
        # What has had an effect on it needs no other verb.
        left = [obstacle for obstacle in obstacles if {obstacle, tool} not in names_of]
        tries += (each for each in grammar_tries(turn.language, left, [tool], {}) if len(each.names) == 2)
    ranked = sorted(tries, key=turn.episode.record.promise, reverse=True)
    yield from (Candidate(Tier.TOOL, each.command) for each in ranked)


def tools_wanted(place: PlaceNotes, nouns: Nouns, carried: Collection[Item]) -> Iterator[tuple[str, str]]:
    """Yield the exits and things that refused at a place, each with a carried thing that the refusal names.

    A tool that scored here has done its part.
    """
    scored = {action for action, outcome in place.remembered.items() if outcome is ActionOutcome.SCORES}
    used = {name for action in scored for name in nouns.analyzed(action).names}
    for action, said in place.all_refusals.items():
        is_one = len(nouns.analyzed(action).names) + bool(canonical_direction(action)) == 1
        if is_one and not is_passive(action) and not any(nouns.named_in(action, carried)):
            yield from ((action, tool) for tool in nouns.named_in(said, carried) if tool not in used)


def passwords(turn: TurnView) -> Iterator[Candidate]:
    """A word in quotation marks may be a password, so say it where an exit is barred."""
    words = turn.episode.words
    if words and turn.episode.nouns.known("say") and turn.episode.is_barred(turn.here):
        yield from (Candidate(Tier.TOOL, f"say {word}") for word in words)


def grammar(turn: TurnView) -> Iterator[Candidate]:
    """Any other command of the story's grammar may have an effect, so try these when nothing else is left."""
    now, place, episode = turn.context.observation, turn.place, turn.episode
    if turn.language is None or now.dark or next(place.untried, None) is not None:
        return
    seen, held = _marks(turn, now.visible), _marks(turn, now.inventory)
    at_hand = [name for name in dict.fromkeys((*seen, *place.mentioned)) if name not in turn.notes.held]
    # Food and drink are kept until they are needed.
    spared = _REMEDIES if episode.past.deadline is not None else ()
    made = commands(turn.language, at_hand, list(held), seen | held, list(turn.notes.topics)[-_MAX_TOPICS:])
    unspared = (each for each in made if not each.command.startswith(spared))
    fresh = [each for each in unspared if place.is_fresh(each.command) and episode.is_untried(turn.here, each.command)]
    ranked = sorted(fresh, key=episode.record.promise, reverse=True)
    accepted = (each.command for each in ranked if check_action(each.command, turn.language, turn.scene).valid)
    yield from (Candidate(Tier.GRAMMAR, action) for action in islice(accepted, _MAX_GRAMMAR))


def remedies(turn: TurnView) -> list[str]:
    """Return the commands here that may satisfy hunger or thirst, the most promising first."""
    now, nouns = turn.context.observation, turn.episode.nouns
    inedible = set(turn.names(item for item in now.at_hand if turn.attributes(item).get("edible") is False))
    things = dict.fromkeys((*turn.names(now.at_hand), *turn.place.mentioned))
    unsuitable = {action for _, action in dangers.deaths(turn.graph)}
    unsuitable.update(map(normalized_action, turn.context.failed_here))
    unsuitable.update(f"eat {thing}" for thing in inedible)
    commands = (f"{verb}{thing}" for verb in _REMEDIES for thing in things)
    tries = [nouns.analyzed(each) for each in commands if each not in unsuitable and turn.is_valid(each)]
    return [each.command for each in sorted(tries, key=turn.episode.record.promise, reverse=True)]


Offer = Callable[[TurnView], Iterable[Candidate]]
OFFERS: tuple[Offer, ...] = (advice, exits, usual_verbs, waiting, keys, tools, passwords, grammar)


def note_offers(turn: TurnView, offers: Collection[Offer]) -> None:
    """Note the actions that can be tried here."""
    place, episode = turn.place, turn.episode
    candidates = chain.from_iterable(offer(turn) for offer in offers if offer is not grammar)
    untried = (each for each in candidates if episode.is_untried(turn.here, each.action))
    place.offer(episode.shuffled(each for each in untried if turn.is_valid(each.action)))
    if grammar in offers:
        place.offer_more(grammar(turn))
    carried = tuple(f" {noun}" for noun in turn.names(turn.context.observation.carried))
    place.portable = frozenset(action for action in place.offered if action.endswith(carried))


def holders(turn: TurnView) -> Iterator[str]:
    """Yield where things can be put here: "in case", "on table"."""
    for item in turn.context.observation.visible or ():
        attributes, name = turn.attributes(item), turn.episode.nouns.name(item)
        if not name or attributes.get("takeable") or attributes.get("animate"):
            continue
        if attributes.get("container") and attributes.get("open"):
            yield f"in {name}"
        elif attributes.get("supporter"):
            yield f"on {name}"


def _understood(nouns: Nouns) -> set[str]:
    """Return the verbs that the parser knows."""
    known = {verb for verb in _VERBS if nouns.known(verb.split()[0])}
    return known - {"read"} if nouns.language and _mean_the_same("read", "examine", nouns.language) else known


def _mean_the_same(verb: str, other: str, language: Language) -> bool:
    lines = (language.verbs.get(language.truncate(each)) or () for each in (verb, other))
    first, second = ({line.action for line in each if len(line.tokens) == 1} for each in lines)
    return bool(first) and first == second


def _of_thing(noun: str, fitting: Iterable[tuple[Tier, str]], understood: Collection[str]) -> list[Candidate]:
    return [Candidate(tier, f"{verb} {noun}") for tier, verb in fitting if verb in understood]


@cached_by_identity
def _fitting(attributes: Mapping[str, bool]) -> dict[str, list[tuple[Tier, str]]]:
    """Return how a thing is known → the verbs that may be tried on it."""
    return {
        how: [(tier, verb) for tier, verb, needed in forms if _may(attributes, needed)] for how, forms in _FORMS.items()
    }


def _may(attributes: Mapping[str, bool], needed: tuple[str, ...]) -> bool:
    known = [attributes[bare] is (bare == name) for name in needed if (bare := name.removeprefix("!")) in attributes]
    return not known or any(known)


def _marks(turn: TurnView, items: Iterable[Item] | None) -> dict[str, frozenset[int]]:
    """Return name → the numbers of its attributes, of things to try something with; what proved good is spared."""
    if turn.scene is None:
        return {}
    named = {name: item.num for item in items or () if (name := turn.episode.nouns.name(item))}
    spared = turn.notes.useful | turn.notes.valued
    known = {name: turn.scene.attributes.get(number, {}) for name, number in named.items() if name not in spared}
    usual = (name for name, has in known.items() if not (has.get("animate") or has.get("light")))
    return {name: turn.scene.set_attributes.get(named[name], frozenset()) for name in usual}
