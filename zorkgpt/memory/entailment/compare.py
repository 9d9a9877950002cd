"""The word check: whether one text repeats, extends or contradicts another, decided from their words.

Cosine similarity can't distinguish a paraphrase from a contradiction, because one word makes the difference. So this is
strict: the result is `same` or `adds` only if every word is accounted for.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Literal

from zorkgpt.memory.entailment import lexicon

TextRelation = Literal["same", "adds", "conflict", "unsure"]
Form = Literal["base", "s", "past", "ing"]

LONGEST = 4000
"""Maximum number of characters of a text that is cached, and of a memory that is compared."""
_LEADING_WORDS = 12
"""Maximum length of a clause before the main clause."""
_NAMED_WORDS = 8
"""Maximum number of words in a reason."""
# Within a sentence, a verb follows its subject. After one of these, the word may be a noun or an adjective.
_NO_SUBJECT = lexicon.FUNCTION_WORDS - lexicon.PRONOUNS
_MAY_BE_LEFT_OUT = lexicon.FUNCTION_WORDS | lexicon.NEGATIONS | {"do", "does", "did", "to", "of", "you"}
_NOT_DISTINCTIVE = _MAY_BE_LEFT_OUT.union(lexicon.NUMBERS, lexicon.CONTRACTIONS)
_PLAIN_WORD = re.compile(r"(?<!\S)\(?([a-z]+|[0-9]+)[.,;:!)]*(?!\S)")
"""A word or number that is the same however the text around it is read."""
_AFTER_KEPT_ARTICLE = lexicon.FUNCTION_WORDS | lexicon.KEEPS_ARTICLE

_OPENING, _CLOSING = "\"'“‘«([{*_~「", ".,;:!…\"'”’»)]}*_~。、，；：！」"
_QUOTES = frozenset("\"'“”‘’«»")
_ENDS, _PAUSES = frozenset(".;!…。；！"), frozenset(",:)、，：")
# Case makes a difference in these: "aBc", "kHz", "5 MW", "plan A".
_MAY_COUNT = re.compile(r"[a-z0-9][A-Z]|\d (?:[A-Za-z]?[A-Z]|[A-Z][a-z])\b| A\b")
_CASE_COUNTS = re.compile(
    r"\w{0,20}[a-z0-9][A-Z]\w{0,20}|(?<=\d )(?!(?:AM|PM)\b)(?:[A-Za-z]?[A-Z]|[A-Z][a-z])\b|(?<=[a-z0-9] )A\b(?! [A-Z])"
)


# Such a stem doubles its last letter before -ed and -ing ("plan", "planned"), so "planed" is not its form.
_DOUBLES = re.compile(r"[^aeiou]*[aeiou][^aeiouwxy]")


@dataclass(frozen=True, slots=True)
class Contrast:
    """How a newer text relates to an older one, and the differences."""

    relation: TextRelation
    reasons: tuple[str, ...] = ()


def compare(older: str, newer: str) -> Contrast:
    """Return how the newer text relates to the older one, as `relation_of` does, with the reasons."""
    relation = relation_of(older, newer)
    return Contrast(relation, reasons_for(relation, older, newer))


def relation_of(older: str, newer: str) -> TextRelation:
    """Return how the newer text relates to the older one.

    - `same`: they say the same, in either order.
    - `adds`: the newer text says all of the older one and more. In the other direction, this is `unsure`.
    - `conflict`: they differ only in one negation or one pair of opposites.
    - `unsure`: anything else, including texts about different things.
    """
    first, second = read(older), read(newer)
    if not first.words or not second.words:
        return "same" if older.strip() == newer.strip() else "unsure"
    if covered := _covers(first, second):
        return covered
    # If the older text says more, they don't contradict each other.
    is_conflict = _is_conflict(first, second) and not _is_one_of_several(older, first, second)
    return "conflict" if is_conflict and not _covers(second, first) else "unsure"


def may_relate(newer: str) -> Callable[[str], bool]:
    """Return a fast check of older texts. It is False only if `relation_of` is `unsure`, as for most pairs."""
    stems = read(newer).stems

    def check(older: str) -> bool:
        # Texts that are related differ in at most one of these words.
        missing = (word for word in _plain_words(older) - stems if stems.isdisjoint(_readings(word)))
        return next(missing, None) is None or next(missing, None) is None

    return check


@lru_cache(maxsize=1 << 14)
def _plain_words(text: str) -> frozenset[str]:
    """Return the significant words and numbers of a text that are the same however the text around them is read."""
    return frozenset(_PLAIN_WORD.findall(text)) - _NOT_DISTINCTIVE


def reasons_for(relation: TextRelation, older: str, newer: str) -> tuple[str, ...]:
    """Return the reasons for the relation of two texts. () if they say the same."""
    first, second = read(older), read(newer)
    if relation == "same":
        return ()
    if not first.words or not second.words:
        return ("one has no words",)
    if relation == "adds":
        return (f"adds: {' '.join(only_in(second, first)) or 'words that are there already'}",)
    if relation == "unsure" and relation_of(newer, older) == "adds":
        return ("the older one says more",)
    return _differences(first, second)


# Reading a text


@dataclass(frozen=True)
class Text:
    """Words in order without case, punctuation and articles, with three marks for each."""

    words: tuple[str, ...]
    stops: tuple[str, ...]
    """The punctuation after each word: "" for none, "," for a pause, or "." for the end of a sentence."""
    literal: tuple[bool, ...]
    """Whether the word is in quotes, so that it must match exactly."""
    articles: tuple[bool, ...]
    """Whether there was an article before the word."""

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of all words, and the owners: "captain" of "captain's"."""
        owners = [word[:-2] for word in self.words if word.endswith("'s")]
        return frozenset(owners).union(*map(_readings, self.words))

    def part(self, start: int, end: int | None = None) -> "Text":
        cut = slice(start, end)
        return Text(self.words[cut], self.stops[cut], self.literal[cut], self.articles[cut])

    def next_word(self, place: int) -> tuple[str, bool]:
        """Return the next word, and whether it has an article. ("", False) after the last word."""
        after = place + 1
        return (self.words[after], self.articles[after]) if after < len(self.words) else ("", False)

    def rotated(self, start: int) -> "Text":
        """Return the text from a word to the end, followed by the words before it."""
        head, rest = self.part(0, start), self.part(start)
        return Text(
            rest.words + head.words,
            rest.stops + head.stops,
            rest.literal + head.literal,
            rest.articles + head.articles,
        )


def read(text: str) -> Text:
    """Return the words of a text. Those of usual length are cached, because a memory is compared with each new one."""
    return _read_cached(text) if len(text) <= LONGEST else _read(text)


def _read(text: str) -> Text:
    words, stops, literal = _split(text)
    left_out = {
        at
        for at, (word, following) in enumerate(pairwise(words))
        if word in lexicon.ARTICLES
        and not (literal[at] or stops[at] or following in _AFTER_KEPT_ARTICLE or following[:1].isdigit())
    }
    kept = [at for at in range(len(words)) if at not in left_out]
    return Text(
        tuple([words[at] for at in kept]),
        tuple([stops[at] for at in kept]),
        tuple([literal[at] for at in kept]),
        tuple([at - 1 in left_out for at in kept]),
    )


_read_cached = lru_cache(maxsize=1 << 14)(_read)


def _split(text: str) -> tuple[list[str], list[str], list[bool]]:
    """Return the words with articles and numbers as digits ("twenty", "one" become "21"), their stops and quotes."""
    words: list[str] = []
    stops: list[str] = []
    literal: list[bool] = []
    quoted = False
    # The compound of a number such as "twenty" that the next word may complete.
    tens_in: int | None = None
    for number, raw in enumerate(_plain(text).split(), start=1):
        if raw.isalpha() and not quoted and raw not in lexicon.NUMBERS and raw not in lexicon.CONTRACTIONS:
            # Most words. The rest of the loop has the same result for them.
            words.append(raw)
            stops.append("")
            literal.append(False)
            tens_in = None
            continue
        opened = raw.lstrip(_OPENING)
        core = opened.rstrip(_CLOSING)
        if not core.strip("-•") and _is_sign(raw, first=not words):
            core = opened = raw
        elif raw[0].isdigit() and not quoted and (measure := re.match(r"\d+['\"]", raw)):
            core = measure[0]  # feet and inches
        before, after = raw[: len(raw) - len(opened)], opened[len(core) :]
        is_word = bool(core.strip("-•"))
        if words and ("(" in before or not is_word):
            stops[-1] = stops[-1] or ","
        if not is_word:
            continue
        quoted = quoted or not _QUOTES.isdisjoint(before)
        parts = (core,) if quoted or not ("-" in core or "'" in core or core == "cannot") else _parts(core)
        compound = number if len(parts) > 1 else 0
        for part in parts:
            value = None if quoted else lexicon.NUMBERS.get(part)
            if value is not None and tens_in == compound and not stops[-1] and len(value) == 1 and value != "0":
                words[-1], tens_in = str(int(words[-1]) + int(value)), None
                continue
            words.append(part if value is None else value)
            stops.append("")
            literal.append(quoted)
            tens_in = compound if value is not None and int(value) >= 20 else None
        if after:
            stops[-1] = "." if not _ENDS.isdisjoint(after) else "," if not _PAUSES.isdisjoint(after) else ""
            quoted = quoted and _QUOTES.isdisjoint(after)
            if stops[-1] and words[-1] in lexicon.NEGATIONS:
                words[-1] += ","  # "no, exit" is not "no exit"
    return words, stops, literal


def _plain(text: str) -> str:
    composed = text if text.isascii() else unicodedata.normalize("NFC", text)
    plain = _without_case(composed).replace("’", "'").replace("—", " - ").strip()
    # Quotes around the whole text don't make its words literal.
    if len(plain) > 1 and plain[0] in '"“«' and plain[-1] in '"”»' and not _QUOTES & set(plain[1:-1]) - {"'"}:
        return plain[1:-1]
    return plain


def _without_case(text: str) -> str:
    """Return the text in lower case, except where case makes a difference. Text in capitals becomes lower case."""
    if _MAY_COUNT.search(text) is None or text == text.upper():
        return text.casefold()
    parts, end = [], 0
    for match in _CASE_COUNTS.finditer(text):
        parts += [text[end : match.start()].casefold(), match[0]]
        end = match.end()
    return "".join([*parts, text[end:].casefold()])


def _is_sign(raw: str, *, first: bool) -> bool:
    """Return whether a sign counts as a word, as in "type * to list", and is not a bullet, a dash or an ellipsis."""
    quoted = raw[0] in _QUOTES and raw[-1] in _QUOTES and len(raw) > 2
    return quoted or (raw == "*" and not first)


def _parts(core: str) -> list[str]:
    if core in lexicon.CONTRACTIONS:
        return lexicon.CONTRACTIONS[core].split()
    if core.endswith("n't"):
        return [core[:-3], "not"]
    if "-" in core and not core.endswith("ing") and re.fullmatch(r"[^\W\d]+(-[^\W\d]+)+", core):
        return core.split("-")
    return [core]


# Forms of verbs


def forms_of(one: str, other: str) -> set[Form]:
    """Return the forms of the two words if they are different forms of the same verb; otherwise an empty set."""
    if one[:1] != other[:1]:
        return set()
    others = _readings(other)
    for stem, form in _readings(one).items():
        if others.get(stem, form) != form:
            return {form, others[stem]}
    return set()


@lru_cache(maxsize=1 << 14)
def _readings(word: str) -> Mapping[str, Form]:
    """Return the verbs that a word can be a form of, each with that form. The word itself is the first."""
    readings: dict[str, Form] = {word: "base"}
    if word in lexicon.IRREGULAR:
        readings[lexicon.IRREGULAR[word]] = "past"
    if word.endswith("ies") and len(word) > 4:
        readings[word[:-3] + "y"] = "s"
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        readings[word[:-1]] = "s"
        if word.endswith(("ches", "shes", "sses", "xes", "zes", "oes")):
            readings[word[:-2]] = "s"
    if word.endswith("ied") and len(word) > 4:
        readings[word[:-3] + "y"] = "past"
    elif word.endswith("ed"):
        readings |= dict.fromkeys(_stems(word[:-2]), "past")
    if word.endswith("ing"):
        readings |= dict.fromkeys(_stems(word[:-3]), "ing")
    return readings


def _stems(rest: str) -> list[str]:
    if len(rest) < 2 or not re.search("[aeiouy]", rest):
        return []
    stems = [rest + "e"]
    if rest[-1] == rest[-2] and rest[-1] not in "sl":
        stems.append(rest[:-1])
    elif not _DOUBLES.fullmatch(rest):
        stems.append(rest)
    return stems


def is_past(word: str) -> bool:
    """Return whether a word can be a past participle: "drawn", "hidden", "locked"."""
    return len(word) > 4 and "past" in _readings(word).values()


# Comparing two texts


def _covers(older: Text, newer: Text) -> Literal["same", "adds"] | None:
    """Return whether the newer text says the same as the older one, or more. None if neither."""
    if older.words == newer.words:
        stops = list(zip(older.stops, newer.stops, strict=True))[:-1]
        return None if _is_divided_differently(older.words, stops) else "same"
    # A leading clause can also follow the main clause: "at dusk it closes".
    for first in [older, *_turned(older, newer.words[0])]:
        end, inserted = _match(first, newer)
        if end == len(newer.words):
            return "adds" if inserted else "same"
        if end and _goes_on(first, newer, end):
            return "adds"
    for second in _turned(newer, older.words[0]):
        end, inserted = _match(older, second)
        if end == len(second.words):
            return "adds" if inserted else "same"
    return None


def _turned(text: Text, start: str) -> list[Text]:
    if text.words[0] == start or text.words[0] not in lexicon.LEADING:
        return []
    leading = text.words[:_LEADING_WORDS]
    return [text.rotated(place) for place, word in enumerate(leading) if word == start and place > 1]


def _match(older: Text, newer: Text) -> tuple[int, bool]:
    """Match the older text with the beginning of the newer one.

    Returns:
        The number of words in the newer text that cover the older one (0 if none), and whether some were inserted.
    """
    theirs, ours = newer.words, older.words
    is_order = _may_differ(older, 0, newer, 0)
    may_insert = lexicon.NARROWED.isdisjoint(ours)
    at = there = 0
    inserted = False
    stops: list[tuple[str, str]] = []
    while at < len(ours):
        if there >= len(theirs):
            return 0, False
        if ours[at] == theirs[there] or _may_differ(older, at, newer, there):
            if at + 1 < len(ours):
                stops.append((older.stops[at], newer.stops[there]))
            at, there = at + 1, there + 1
        elif is_order and _is_purpose(older, at, newer, there):
            at, there = at + 1 + (ours[at] == "to"), there + 1 + (theirs[there] == "to")
        elif _is_possessive(ours, at, theirs, there):
            at, there = at + (2 if ours[at].endswith("'s") else 3), there + (2 if theirs[there].endswith("'s") else 3)
        elif _is_receiver(older, at) or _is_receiver(newer, there):
            at, there = at + (ours[at] == "you"), there + (theirs[there] == "you")
        elif may_insert and theirs[there] in lexicon.HARMLESS:
            there, inserted = there + 1, True
        else:
            return 0, False
    return (0, False) if _is_divided_differently(ours, stops) else (there, inserted)


def _may_differ(older: Text, at: int, newer: Text, there: int) -> bool:
    """Return whether these words are forms of the same verb, in positions where the form does not matter."""
    if older.literal[at] or newer.literal[there]:
        return False
    forms = forms_of(older.words[at], newer.words[there])
    if forms == {"s", "past"}:
        return all(
            place > 0 and text.words[place - 1] not in _NO_SUBJECT and not text.stops[place - 1]
            for text, place in ((older, at), (newer, there))
        )
    if forms and "s" not in forms:
        return _begins_clause(older, at) and _begins_clause(newer, there) and (at > 0) == (there > 0)
    return False


def _begins_clause(text: Text, place: int) -> bool:
    """Return whether an order or an activity begins here: "Turn the dial", "Turning the dial"."""
    following, has_article = text.next_word(place)
    has_object = has_article or following in lexicon.DETERMINERS or following.isdigit()
    if not has_object or text.articles[place] or text.stops[place]:
        return False
    return place == 0 or bool(text.stops[place - 1]) or text.words[place - 1] in ("and", "then")


def _is_divided_differently(words: tuple[str, ...], stops: list[tuple[str, str]]) -> bool:
    """Return whether punctuation groups the same words differently. An additional mark doesn't, a moved one does."""
    if not lexicon.CALCULATING.isdisjoint(words) and any(bool(one) != bool(other) for one, other in stops):
        return True
    return any(one and not other for one, other in stops) and any(other and not one for one, other in stops)


def _is_purpose(older: Text, at: int, newer: Text, there: int) -> bool:
    """Match "turn it to open the gate" with "turning it opens the gate"."""
    one, other = older.words[at], newer.words[there]
    if (one == "to") == (other == "to"):
        return False
    verbs = (older.next_word(at)[0], other) if one == "to" else (one, newer.next_word(there)[0])
    return forms_of(*verbs) == {"base", "s"}


def _is_possessive(ours: tuple[str, ...], at: int, theirs: tuple[str, ...], there: int) -> bool:
    """Match "the hero's name" with "the name of the hero"."""
    if theirs[there].endswith("'s"):
        ours, at, theirs, there = theirs, there, ours, at
    owner, owned = ours[at], ours[at + 1 : at + 2]
    return owner.endswith("'s") and theirs[there : there + 3] == (*owned, "of", owner[:-2])


def _is_receiver(text: Text, place: int) -> bool:
    """Return whether "you" can be omitted here: "it costs you one life"."""
    if text.words[place] != "you" or place == 0 or text.stops[place]:
        return False
    following, has_article = text.next_word(place)
    return text.words[place - 1] in lexicon.GIVING and (has_article or following[:1].isdigit())


def _goes_on(older: Text, newer: Text, end: int) -> bool:
    """Return whether the rest of the newer text leaves the meaning of the first part unchanged."""
    rest, stop = newer.part(end), newer.stops[end - 1]
    if not lexicon.UNDOING.isdisjoint(rest.words) or any("?" in word for word in rest.words):
        return False
    if len(rest.words) + sum(rest.articles) < 3:
        return stop == "," and len(rest.words) == 2 and is_past(rest.words[1])
    if stop == "," and (rest.stops[0] == "," or rest.words[1] in ("and", "or")):  # one more of a list
        return False
    if rest.words[0] == "later" or rest.words[:2] in (("so", "long"), ("as", "long")):
        return False
    if _is_item(rest, 0) or rest.words[0] == "or" or (rest.words[0] in ("and", "but") and _is_item(rest, 1)):
        return False
    if rest.words[0] in lexicon.NARROWING_STARTS:
        return rest.words[:2] == ("after", "which")
    return _denies_elsewhere(rest, stop) and (bool(stop) or _goes_on_without_stop(older, rest))


def _denies_elsewhere(rest: Text, stop: str) -> bool:
    """Return whether the rest has no negation, or only one in a later part of another sentence."""
    places = [place for place, word in enumerate(rest.words) if word.rstrip(",") in lexicon.NEGATIONS]
    if rest.words[0] == "without" and rest.words[1].endswith("ing"):
        return len(places) == 1
    return not places or (stop == "." and places[0] > 2 and rest.words[0] not in ("but", "although", "though"))


def _goes_on_without_stop(older: Text, rest: Text) -> bool:
    start, following = rest.words[:2]
    if start in lexicon.CLAUSE_STARTS:
        return True
    if start == "and":
        unconditional = lexicon.CONDITIONS.isdisjoint(older.words)
        return _is_verb(rest, 1) if unconditional else _is_main_verb(older, following)
    if not lexicon.NARROWED.isdisjoint(older.words):
        return False
    if start in lexicon.PHRASE_STARTS or start == "without":
        return True
    if start in ("in", "within"):
        return following.isdigit()
    if start.endswith("ing"):
        return rest.articles[1] or following in lexicon.DETERMINERS
    return is_past(start) and following in lexicon.PREPOSITIONS


def _is_item(text: Text, place: int) -> bool:
    """Return whether this word continues a list of numbers or quoted words, which makes it a different list."""
    return place < len(text.words) and (text.literal[place] or text.words[place][0].isdigit())


def _is_verb(text: Text, place: int) -> bool:
    word = text.words[place]
    if text.articles[place] or word in lexicon.DETERMINERS:
        return False
    _, has_article = text.next_word(place)
    return has_article or word in lexicon.SUBJECTS_AND_AUXILIARIES or word.endswith("s")


def _is_main_verb(older: Text, verb: str) -> bool:
    """Return whether a verb after a condition belongs to the main clause: "it glows if they are near and turns red"."""
    condition = next(place for place, word in enumerate(older.words) if word in lexicon.CONDITIONS)
    return condition > 0 and verb.endswith("s") and not lexicon.PLURAL.isdisjoint(older.words[condition:])


def _is_conflict(first: Text, second: Text) -> bool:
    # A negation has at most two words: "does not".
    if abs(len(first.words) - len(second.words)) > 2:
        return False
    both = set(first.words) | set(second.words)
    if not both.isdisjoint(lexicon.PARTIAL) or any("?" in word for word in both):
        return False
    return _is_denied(first, second) or _is_denied(second, first) or _are_opposed(first, second)


def _is_denied(plain: Text, denying: Text) -> bool:
    """Return whether the second text is the first one with a negation, including its auxiliary verb."""
    places = [place for place, word in enumerate(denying.words) if word in lexicon.NEGATIONS]
    if len(places) != 1 or not lexicon.NEGATIONS.isdisjoint(plain.words):
        return False
    [place], words = places, denying.words
    negation, before = words[place], words[place - 1] if place else ""
    if negation == "not" and before in ("do", "does", "did"):
        left, verb = words[: place - 1] + words[place + 1 :], place - 1
    elif negation in ("not", "never", "no"):
        left, verb = words[:place] + words[place + 1 :], None
    else:
        return False
    differing = [at for at, (one, other) in enumerate(zip(plain.words, left, strict=False)) if one != other]
    if len(left) != len(plain.words) or differing not in ([], [verb]) or _is_supposed(denying, place):
        return False
    return all("base" in forms_of(plain.words[at], left[at]) for at in differing)


def _are_opposed(first: Text, second: Text) -> bool:
    if len(first.words) != len(second.words):
        return False
    differing = [at for at, (one, other) in enumerate(zip(first.words, second.words, strict=True)) if one != other]
    if len(differing) != 1:
        return False
    [place] = differing
    if _is_supposed(first, place):
        return False
    one, other = first.words[place], second.words[place]
    if frozenset((one, other)) not in lexicon.OPPOSITES and one != f"un{other}" and other != f"un{one}":
        return False
    # Before a noun, they can describe two different things, such as the north exit and the south exit.
    return not lexicon.OPPOSED_ANYWHERE.isdisjoint((one, other)) or not (
        _is_before_noun(first, place) or _is_before_noun(second, place)
    )


def _is_one_of_several(older: str, first: Text, second: Text) -> bool:
    """Return whether they differ in the direction of something that can exist twice: "a path leads north"."""
    if lexicon.DIRECTIONS.isdisjoint(set(first.words) ^ set(second.words)):
        return False
    return not {"a", "an", "can", "there"}.isdisjoint(older.casefold().split())


def _is_supposed(text: Text, place: int) -> bool:
    """Return whether this is not stated as a fact, as in "if it is open" and "the cook says it is open"."""
    for word, stop in zip(reversed(text.words[:place]), reversed(text.stops[:place]), strict=True):
        if stop:
            return False
        if word in lexicon.SUPPOSING:
            return True
    return False


def _is_before_noun(text: Text, place: int) -> bool:
    following, has_article = text.next_word(place)
    return bool(following) and not (text.stops[place] or has_article or following in lexicon.FUNCTION_WORDS)


_KINDS = (
    ("negation", lexicon.NEGATIONS),
    ("number", lexicon.NUMBER_WORDS),
    ("direction", lexicon.DIRECTIONS),
    ("condition", lexicon.EXCEPTIONS | lexicon.CONDITIONS - lexicon.ORDER),
    ("order in time", lexicon.ORDER),
    ("quantity", lexicon.QUANTIFIERS),
    ("modality", lexicon.MODALS | lexicon.HEDGES),
)


def _differences(first: Text, second: Text) -> tuple[str, ...]:
    """Return the words that only one of them has, by kind: "differs in direction: north, south"."""
    lost, new = only_in(first, second), only_in(second, first)
    by_kind: dict[str, list[str]] = {}
    for word, others in [(word, new) for word in lost] + [(word, lost) for word in new]:
        if word not in ("do", "does", "did") and not any(forms_of(word, other) for other in others):
            by_kind.setdefault(kind_of(word), []).append(word)
    if not by_kind:
        return ("differs in the order, the number or the form of its words",)
    return tuple(f"differs in {kind}: {', '.join(words)}" for kind, words in by_kind.items())


def only_in(one: Text, other: Text) -> list[str]:
    """Return the words of one text that the other does not have."""
    known = set(other.words)
    return [word for word in dict.fromkeys(one.words) if word not in known][:_NAMED_WORDS]


def kind_of(word: str) -> str:
    """Return the kind of a word: "negation", "direction" ..., or "words" for any other."""
    if any(character.isdigit() for character in word):
        return "number"
    return next((kind for kind, members in _KINDS if word in members), "words")
