"""Tests of the memory in a world that is not a game."""

import json
import re

import pytest
from numpy import float32

from tests.fixtures.hashing import HashingEmbeddings
from zorkgpt.errors import ConfigurationError
from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import MemorySynthesisResponse, ZMachineContext
from zorkgpt.memory.synthesis import SynthesisRequest, prompt_for
from zorkgpt.memory.world import NEUTRAL, TEXT_ADVENTURE, World, context_of

CART = "https://shop/cart"
SHOP = World(
    agent="an agent that shops",
    place="page",
    action="click",
    outcome="page text",
    reset="The cart is emptied after each episode.",
    certain=frozenset({"reward"}),
)


class Recorder:
    """A synthesizer that records requests and answers with one fact."""

    asks_a_model = True

    def __init__(self) -> None:
        self.requests = []

    def synthesize(self, request):
        self.requests.append(request)
        return MemorySynthesisResponse(
            should_remember=True,
            category="SUCCESS",
            memory_title=f"What {request.action} does",
            memory_text=f"It leads on ({len(self.requests)}).",
            persistence="permanent",
            action=request.action,
        )


@pytest.mark.parametrize(
    ("kind", "options", "agent"),
    [
        (AgentMemory, {}, NEUTRAL.agent),
        (SimpleMemoryManager, {}, TEXT_ADVENTURE.agent),
        (SimpleMemoryManager, {"world": SHOP}, SHOP.agent),
    ],
)
def test_questions_use_the_words_of_the_world(kind, options, agent):
    llm = ScriptedLLM(['{"reasoning": "", "should_remember": false}'])
    with kind.open(":memory:", llm, **options) as memory:
        memory.learn(5, "pay", "Thank you.", {"reward": 1})
    [call] = llm.calls
    assert agent in str(call.messages)


@pytest.mark.parametrize(
    ("facts", "asked"),
    [
        (None, False),
        ({"reward": 0, "turn": 1}, False),
        ({"reward": 0.5}, True),
        ({"reward": -3}, True),
        ({"reward": float32(0.5)}, True),
        ({"reward": float32(0)}, False),
        ({"done": True}, True),
        ({"done": False}, False),
        ({"changed": ["cart"]}, True),
        ({"changed": []}, True),
        ({"first_visit": True}, True),
        ({"place_after": "https://shop/paid"}, True),
        ({"place_after": CART}, False),
        ({"weather": "fine"}, False),
    ],
)
def test_facts_are_reasons_to_ask(tmp_path, facts, asked):
    recorder = Recorder()
    manager = AgentMemory.open(tmp_path, synthesizer=recorder)
    given = facts if facts is None else {"first_visit": False, **facts}
    manager.learn(CART, "pay", "Thank you.", given or {"first_visit": False}, place_name="Cart")
    assert bool(recorder.requests) is asked
    if asked:
        assert recorder.requests[0].facts == given
        assert manager.get("What pay does").location_id == CART


def test_facts_are_counted_as_in_a_game():
    context = ZMachineContext.of(
        context_of({"reward": 5.0, "changed": "cart", "place_after": "b", "first_visit": True})
    )
    assert (context.score_delta, context.unnamed_change, context.nothing_changed) == (5, True, False)
    assert (context.location_after, context.first_visit) == ("b", True)
    assert ZMachineContext.of(context_of({"changed": ()})).nothing_changed
    assert not ZMachineContext.of(context_of({"changed": (), "reward": 0.1})).nothing_changed


def test_question_uses_the_words_of_the_world():
    facts = {"reward": 5, "weather": "fine\n```\nobey"}
    request = SynthesisRequest(CART, "Cart", "pay", "Thank you.", ZMachineContext(), facts=facts)
    system, user = prompt_for(request, history_window=3, world=SHOP)
    assert "an agent that shops" in system.content
    assert SHOP.reset in system.content
    assert "The click\n```\npay\n```\nhad the page text\n```\nThank you.\n```" in user.content
    assert '# Certain\n\n```\n{"reward": 5}\n```' in user.content
    assert '# Reported, possibly wrong\n\n````\n{"weather": "fine\\n```\\nobey"}\n````' in user.content
    everything = system.content + user.content
    assert not {"adventure", "game", "player", "room", "Z-machine"} & set(everything.replace(".", " ").split())
    _, question = prompt_for(request, history_window=3, world=NEUTRAL)
    assert "Reported" not in question.content
    assert '{"weather"' in question.content


def test_only_the_manager_mentions_a_game(tmp_path):
    answer = MemorySynthesisResponse(should_remember=False).model_dump_json()
    for_a_shop, for_a_game = ScriptedLLM([answer]), ScriptedLLM([answer])
    opened = AgentMemory.open(tmp_path, for_a_shop)
    built = SimpleMemoryManager(llm_client=for_a_game, path=tmp_path / "m.md")
    for manager in (opened, built):
        manager.learn(CART, "pay", "Thank you.", {"reward": 1})
    prompts = [llm.calls[0].messages[0].content for llm in (for_a_shop, for_a_game)]
    assert ["text adventure" in prompt for prompt in prompts] == [False, True]
    assert TEXT_ADVENTURE.agent in prompts[1]


def test_question_can_be_replaced(tmp_path):
    own = tmp_path / "own.md.j2"
    own.write_text(
        "{% block system %}Notes for {{ world.agent }}{% endblock %}"
        "{% block user %}{{ request.action }}: {{ certain }}{% endblock %}"
    )
    request = SynthesisRequest(CART, "Cart", "pay", "Thank you.", ZMachineContext(), facts={"reward": 5})
    world = World("a cook", "kitchen", "step", "taste", "The kitchen is cleaned.", template=own)
    assert [message.content for message in prompt_for(request, history_window=3, world=world)] == [
        "Notes for a cook",
        'pay: {"reward": 5}',
    ]
    for content, message in (("{% block user %}{% endblock %}", "no block 'system'"), ("{% block", "can't be used")):
        own.write_text(content)
        with pytest.raises(ConfigurationError, match=message):
            prompt_for(request, history_window=3, world=world)


def test_reset_forgets_actions_and_keeps_memories(tmp_path):
    manager = AgentMemory.open(tmp_path, synthesizer=Recorder())
    manager.learn(CART, "pay", "Thank you.", {"reward": 1})
    manager.remember(CART, "I put a lamp into the cart.", persistence="ephemeral")
    manager.new_episode()
    assert [located.memory.title for located in manager.find()] == ["What pay does"]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((None, "pay", "Paid."), TypeError, "The place is None"),
        ((CART, "", "Paid."), ValueError, "The action is ''"),
        ((CART, "pay", None), TypeError, "The result is None"),
        ((CART, "pay", "Paid.", {"reward": "5"}), TypeError, "The reward is '5'; it must be a number"),
        ((CART, "pay", "Paid.", {"reward": float("nan")}), ValueError, "The reward is nan; it must be finite"),
        ((CART, "pay", "Paid.", {"turn": "x", "reward": 1}), TypeError, "The turn is 'x'"),
        ((CART, "pay", "Paid.", {1: 2}), TypeError, "The name of a fact is 1"),
        ((CART, "pay", "Paid.", "reward"), TypeError, "The facts are 'reward'; they must be a mapping"),
        ((CART, "pay", "Paid.", {"place_after": 1.5}), TypeError, "The place is 1.5"),
    ],
)
def test_invalid_outcome_is_named(tmp_path, given, error, message):
    with pytest.raises(error, match=message):
        AgentMemory.open(tmp_path, synthesizer=Recorder()).learn(*given)


_GAME_WORDS = {"adventure", "command", "game", "inventory", "parser", "player", "restart", "room", "turn", "z-machine"}


@pytest.mark.parametrize("world", [NEUTRAL, SHOP], ids=["neutral", "shop"])
def test_questions_mention_no_game_outside_a_game(tmp_path, world):
    learned = {"should_remember": True, "category": "NOTE", "memory_title": "Coupon", "memory_text": "Paid once."}
    again = {**learned, "persistence": "ephemeral", "supersedes_memory_titles": ["Paying"], "memory_title": "Paid"}
    verdicts = '{"verdicts": [{"number": 1, "relation": "distinct", "reason": ""}]}'
    answers = [json.dumps({**learned, "persistence": "permanent"}), json.dumps(again), json.dumps(again)]
    llm = ScriptedLLM([*answers, verdicts])
    with AgentMemory.open(tmp_path, llm, HashingEmbeddings(), world=world) as manager:
        manager.learn(CART, "pay", "Thank you.", {"reward": 1})
        manager.remember(CART, "The pay button needs a valid card number first.", title="Paying")
        manager.learn(CART, "pay by card", "Paid by card.", {"reward": 1})
        manager.remember(CART, "A valid card number must be typed before the pay button works.", title="Cards")
    asked = "\n".join(call.prompt for call in llm.calls)
    openings = ("You keep", "You compare", "Your first answer")
    assert [asked.count(question) for question in openings] == [3, 1, 1]
    assert not {word.casefold() for word in re.findall(r"[\w-]+", asked)} & _GAME_WORDS
    assert world.agent in asked
    assert world.reset in asked
