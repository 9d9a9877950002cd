"""Tests that sections of a prompt keep to their budgets by omitting whole items."""

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from game_interface.models import Item, Location, Observation
from tests.fixtures.prompt_limits import most_tokens
from zorkgpt.context import sections
from zorkgpt.context.prompt import AGENT, CRITIC_BUDGETS, fitted, prompt_sections
from zorkgpt.context.prompt_section import fenced, listed, sentences, shortened
from zorkgpt.context.sections import RESPONSE_TOKENS, Budgets
from zorkgpt.context.turns import first_shown, turn_text
from zorkgpt.explore.best_line import LineAhead, LineStep
from zorkgpt.memory.models import Memory
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.memory.synthesis import RecentTurn
from zorkgpt.player import Danger, Exit, KnownPoints, NoRoute, PlayerContext, Route, UntriedWays
from zorkgpt.world.routes import RouteStep

LEAST = Budgets(100, 0.5)

texts = (
    st.text(max_size=80) | st.text("ab. `\n#é", max_size=400) | st.integers(1, 60).map(lambda n: "A word. " * n * 10)
)
names = st.text(min_size=1, max_size=30)


@st.composite
def contexts(draw) -> PlayerContext:
    items = st.lists(names, max_size=60).map(
        lambda found: tuple(Item(number, name) for number, name in enumerate(found))
    )
    recent = draw(st.lists(st.builds(RecentTurn, st.just(0), names, texts, texts, texts), max_size=40))
    seen = Observation(Location(1, draw(names)), (), draw(items), draw(items), 3, 4)
    dangers = st.builds(
        Danger, names, names, st.just(2), st.builds(lambda text: Memory("DANGER", "X", 1, "1", 0, text, "core"), texts)
    )
    steps = st.lists(st.builds(RouteStep, names, st.just(2), st.booleans(), names), max_size=20).map(tuple)
    points = st.builds(
        KnownPoints,
        *(names, st.integers(1, 99), names, st.just(2)),
        st.just(Memory("SUCCESS", "X", 1, "1", 5, "It scored.", "permanent")),
        st.none() | steps,
    )
    some = st.lists(names, max_size=8).map(tuple)
    elsewhere = st.builds(UntriedWays, some, names, st.just(2), steps)
    return PlayerContext(
        seen,
        draw(texts),
        recent=tuple(
            RecentTurn(n + 1, t.location_name, t.action, t.response, t.reasoning) for n, t in enumerate(recent)
        ),
        opening=draw(texts),
        summary=draw(texts),
        room_description=draw(st.none() | texts),
        room_description_age=draw(st.integers(0, 10)),
        exits=tuple(draw(st.lists(st.builds(Exit, names, names, st.just(2), st.just(0.5)), max_size=40))),
        dangers=tuple(draw(st.lists(dangers, max_size=20))),
        known_points=tuple(draw(st.lists(points, max_size=20))),
        route=draw(st.none() | st.builds(Route, names, st.just(3), steps)),
        no_route=draw(st.none() | st.builds(NoRoute, texts, st.booleans())),
        best_line=draw(
            st.none()
            | st.builds(
                LineAhead,
                *(st.integers(0, 999), st.integers(1, 99)),
                st.lists(st.builds(LineStep, names, names, st.integers(-9, 99)), min_size=1, max_size=60).map(tuple),
            )
        ),
        untried_elsewhere=tuple(draw(st.lists(elsewhere, max_size=20))),
        failed_here=tuple(draw(st.lists(names, max_size=60))),
        deadly_here=tuple(draw(st.lists(names, max_size=60))),
        refused=draw(st.none() | texts),
        objectives=tuple(draw(st.lists(texts, max_size=20))),
        knowledge=tuple(draw(st.lists(texts, max_size=20))),
        notices=tuple(draw(st.lists(texts, max_size=20))),
    )


@pytest.mark.slow
@given(contexts(), st.sampled_from([Budgets(), CRITIC_BUDGETS, LEAST]))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_section_is_never_longer_than_its_budget(context, budgets):
    shown = prompt_sections(AGENT, context, budgets)
    limits = {heading.partition("{")[0]: budgets.of(tokens) for heading, tokens, _ in AGENT}
    for section in shown[1:]:
        assert section.tokens <= limits[section.heading.partition(" (")[0].removesuffix(":")], section.heading
    limit = budgets.of(RESPONSE_TOKENS)
    one_turn = max((estimated_tokens(turn_text(turn, limit)) for turn in context.recent), default=0)
    whole = "".join(f"{section}\n\n" for section in shown)
    assert estimated_tokens(whole) <= most_tokens(AGENT, budgets, memories=0) + one_turn


def test_long_item_does_not_displace_shorter_ones():
    items = ["- short one", "- " + "long " * 100, "- short two"]
    assert listed(items, 36) == "- short one\n- short two\n(1 more left out)"


def test_fitting_text_is_unchanged():
    assert fenced(" One.\n\nTwo.\n", 60) == "```\nOne.\n\nTwo.\n```"


def test_nothing_is_shown_of_nothing():
    assert (fenced(" \n", 60), listed([], 60)) == ("", "")


@pytest.mark.parametrize("end", [0.0, 0.5])
def test_long_text_is_cut_at_lines(end):
    lines = [f"Line {number} is as long as this." for number in range(30)]
    shown = shortened("\n".join(lines), 100, end=end)
    first, note, last = re.fullmatch(r"(.*\n)\((\d+) more lines left out\)(.*)", shown, re.DOTALL).groups()
    kept = [*first.splitlines(), *last.splitlines()[1:]]
    assert kept == [*lines[: first.count("\n")], *lines[30 - last.count("\n") :]]
    assert 0 < int(note) == 30 - len(kept)
    assert bool(last) == bool(end)
    assert estimated_tokens(shown) <= 100


@pytest.mark.parametrize(
    ("end", "shown"),
    [
        (0, "One is here. Two is here. [...]"),
        (0.5, "One is here. [...] Four is here."),
        (1, "[...] Three is here. Four is here."),
    ],
)
def test_long_line_is_cut_at_sentences(end, shown):
    assert sentences("One is here. Two is here. \n Three is here. Four is here.", 12, end=end) == shown


@given(st.text(max_size=300), st.integers(5, 60), st.sampled_from([0, 0.5, 1]))
def test_part_of_a_text_keeps_to_its_tokens(text, tokens, end):
    assert estimated_tokens(sentences(text, tokens, end=end)) <= tokens


@given(st.lists(st.integers(1, 50), min_size=1, max_size=200), st.integers(20, 300))
def test_old_turns_are_dropped_in_blocks(costs, tokens):
    starts = [first_shown(costs[:count], tokens) for count in range(1, len(costs) + 1)]
    assert starts == sorted(starts)
    for last, start in enumerate(starts):
        assert sum(costs[start : last + 1]) <= tokens or start == last
    for last, (before, after) in enumerate(pairwise(starts), 1):
        if after > before:
            assert sum(costs[before : last + 1]) > tokens
            assert sum(costs[after : last + 1]) <= tokens // 2 or after == last


@pytest.mark.slow
@given(contexts())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_history_grows_at_its_end(context):
    whole = sections.history(context, Budgets())
    some_left_out = sections.turns_shown(context, Budgets()) != context.recent
    for count in range(len(context.recent)):
        earlier = sections.history(replace(context, recent=context.recent[:count]), Budgets())
        assert some_left_out or whole.startswith(earlier)


@pytest.mark.slow
@given(contexts(), st.integers(2_000, 20_000))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_sections_fit_into_a_context(context, tokens):
    shown = prompt_sections(AGENT, context, fitted(context, Budgets(), tokens))
    assert estimated_tokens("".join(f"{section}\n\n" for section in shown)) <= tokens
