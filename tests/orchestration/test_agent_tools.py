"""Tests of a model that calls tools before it acts."""

import shutil
from pathlib import Path

import pytest

from orchestration.player_choice import PlayerChoice
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from tests.fixtures import runs
from tests.fixtures.chat_server import Answer, ChatServer, Status
from tests.fixtures.runs import CutGame, a_walkthrough, press_ctrl_c, resume
from tests.fixtures.saved import saved_in
from zorkgpt.llm.client import LLMClient
from zorkgpt.llm.scripted import RecordedLLM
from zorkgpt.llm.settings import LLMSettings
from zorkgpt.llm.usage import CallRecord
from zorkgpt.memory.models import GAME, Memory
from zorkgpt.runlog.events import PlayerKind

pytestmark = pytest.mark.slow

LOOK = "I look again.\nACTION: look"
LAST = "\nThat was the last call of this turn. Answer now: your reasons, then the ACTION line."
SPENT = "Not done: only 3 calls are allowed in a turn. Answer now: your reasons, then the ACTION line."
RULE = {
    "title": "The tide",
    "fact": "The tide turns every hour.",
    "subject": "game",
    "kind": "rule",
    "lasts": "always",
}


def call(*calls: tuple[str, object]) -> Answer:
    return Answer(None, finish_reason="tool_calls", calls=calls)


def note(**changed: str) -> Answer:
    return call(("note", RULE | changed))


class Model:
    """Answers the agent's questions in order. Other questions get an answer without a memory."""

    def __init__(self, *answers: Answer | str | Status) -> None:
        self.answers = iter(answers)
        self.asked: list[dict] = []

    def __call__(self, request):
        if "You are playing a text adventure" not in request.prompt:
            return '{"should_remember": false}'
        self.asked.append(request.body)
        return next(self.answers, LOOK)

    def results(self) -> list[str]:
        """Return the results of all calls, in order."""
        return [message["content"] for body in self.asked for message in body["messages"] if message["role"] == "tool"]


def a_run(workdir: Path, llm: object, *, turns: int = 1, kind: str = "model", game=None, **settings):
    choice, settings = PlayerChoice(kind, "a test", None), {"enable_critic": False} | settings
    return runs.a_run(workdir, choice=choice, turns=turns, llm=llm, game=game, settings=settings)


def client_for(server: ChatServer, calls: list[CallRecord] | None = None) -> LLMClient:
    settings = LLMSettings.single(server.model, base_url=server.url, max_retries=0, timeout_s=5)
    return LLMClient(settings, on_call=None if calls is None else calls.append)


def played(workdir: Path, *answers, turns: int = 1, **options) -> Model:
    model = Model(*answers)
    with ChatServer(model) as server, a_run(workdir, client_for(server), turns=turns, **options) as run:
        run.play_episode()
    return model


@pytest.fixture(scope="module")
def walked(tmp_path_factory) -> Path:
    """Working directory of an episode that ended at the salt pans and left a memory there."""
    folder = tmp_path_factory.mktemp("walked")
    with a_walkthrough(folder, "north", "west", turns=2) as run:
        run.play_episode()
        memory = Memory("DANGER", "Deep mud", 1, "2", 0, "Sinking is deadly here.", "permanent")
        run.simple_memory.add_memory(53, "Salt Pans", memory)
    (folder / "walkthrough.txt").unlink()
    return folder


@pytest.fixture
def known(walked, tmp_path) -> Path:
    return shutil.copytree(walked, tmp_path, dirs_exist_ok=True)


def test_tool_calls_and_results_as_the_model_reads_them(known):
    model = played(
        known,
        call(("recall", {"query": "salt pans"})),
        call(("recall", {"query": "the penny"}), ("recall", {"query": "what is deadly?"})),
        LOOK,
    )
    assert [message["content"] for message in model.asked[-1]["messages"] if message["role"] == "tool"] == [
        'Memories that match "salt pans":\n```\nSalt Pans: [DANGER] Deep mud: Sinking is deadly here.\n```',
        '"copper penny" is here.\n'
        'Memories that match "the penny":\n```\n'
        "Causeway End: [DISCOVERY] Starts here: On the milestone: copper penny. [spawn]\n```",
        'Memories that match "what is deadly?":\n'
        f"```\nSalt Pans: [DANGER] Deep mud: Sinking is deadly here.\n```{LAST}",
    ]


FAILED_CALLS = [
    ("recall", {"query": "parrot"}, 'There are no memories that match "parrot".'),
    ("note", RULE | {"subject": "Salt Pans table"}, 'Not done: You know no place or thing called "Salt Pans table".'),
    ("note", RULE | {"subject": "parrot"}, 'Not done: You know no place or thing called "parrot".'),
    ("note", RULE | {"kind": "location"}, "Not noted: the whereabouts of things are known from the game state."),
    ("note", RULE | {"fact": "..."}, "Not done: The arguments of note are wrong: fact: Value error, the text has no"),
    ("note", RULE | {"lasts": "forever"}, "Not done: The arguments of note are wrong: lasts: Input should be 'alw"),
    ("fly", {}, "Not done: There is no tool 'fly'. The tools are: recall, note."),
    ("recall", "lamp", "Not done: The arguments of recall are not a JSON object."),
]


def test_failed_tool_calls_explain_why(known):
    turns = [answer for name, arguments, _ in FAILED_CALLS for answer in (call((name, arguments)), LOOK)]
    model = played(known, *turns, turns=len(FAILED_CALLS))
    for (name, arguments, expected), result in zip(FAILED_CALLS, model.results(), strict=True):
        assert result.startswith(expected), (name, arguments)


def test_calls_beyond_the_limit_are_not_answered(known):
    search = ("recall", {"query": "mud"})
    model = played(known, call(search, search), call(search, search), call(search), LOOK)
    results = [message["content"] for message in model.asked[-1]["messages"] if message["role"] == "tool"]
    assert [result.endswith(LAST) for result in results] == [False, False, True, False, False]
    assert results[3:] == [SPENT, SPENT]


def test_action_takes_precedence_over_a_call(known):
    model = played(known, Answer("I look.\nACTION: look", calls=(("recall", {"query": "mud"}),)), LOOK)
    assert len(model.asked) == 1


def test_remark_beside_a_call_is_not_an_action(known):
    model = played(known, Answer("I want to know.", calls=(("recall", {"query": "mud"}),)), LOOK)
    assert len(model.results()) == 1


def test_call_written_as_text_is_answered(known):
    model = played(known, 'recall("mud")', LOOK)
    asked, result = (message["content"] for message in model.asked[-1]["messages"][2:])
    assert (asked, result.splitlines()[:2]) == ('recall("mud")', ["Result of recall:", 'Memories that match "mud":'])


def test_server_without_tool_support(known):
    refusal = Status(400, "test-model does not support tools")
    model = played(known, refusal, LOOK, LOOK, turns=2)
    assert ["tools" in body for body in model.asked] == [True, False, False]


@pytest.mark.parametrize("options", [{"kind": PlayerKind.PLAIN}, {"enable_agent_tools": False}])
def test_tools_are_not_offered_when_disabled(tmp_path, options):
    model = played(tmp_path, LOOK, **options)
    assert [("tools" in body, "call tools" in str(body)) for body in model.asked] == [(False, False)]


def tide_memories(run: ZorkOrchestratorV2) -> list[tuple]:
    return [
        (located.location_id, located.memory.text, located.memory.persistence, located.memory.source)
        for located in run.simple_memory.find()
        if located.memory.title.startswith("The tide")
    ]


def test_note_is_stored_once_and_can_be_corrected(tmp_path):
    model = Model(note(), note(), note(fact="The tide never turns every hour."), LOOK)
    with ChatServer(model) as server, a_run(tmp_path, client_for(server)) as run:
        run.play_episode()
        assert tide_memories(run) == [(GAME, "The tide never turns every hour.", "permanent", "agent")]
    assert [message["content"] for message in model.asked[-1]["messages"] if message["role"] == "tool"] == [
        "Noted.",
        "Already known.",
        f'Noted. It replaces the memory "The tide turns every hour.".{LAST}',
    ]


def test_note_for_the_episode_can_become_permanent(tmp_path):
    model = played(tmp_path, note(lasts="this episode"), note(lasts="this episode"), note(), LOOK)
    results = [message["content"] for message in model.asked[-1]["messages"] if message["role"] == "tool"]
    assert results == ["Noted.", "Already known.", f"Noted.{LAST}"]


def test_pinned_memory_overrules_a_note(tmp_path):
    with a_walkthrough(tmp_path, "look", turns=1) as run:
        run.play_episode()
        memory = Memory("NOTE", "Tide", 1, "1", 0, "The tide turns every hour.", "permanent")
        run.simple_memory.add_memory(GAME, "", memory)
        run.simple_memory.update("Tide", pinned=True)
    model = Model(note(fact="The tide never turns every hour."), LOOK)
    with ChatServer(model) as server, a_run(tmp_path, client_for(server)) as run:
        run.play_episode()
        assert [each.memory.text for each in run.simple_memory.find(GAME)] == ["The tide turns every hour."]
    assert model.results() == [
        'Not noted, because a better supported memory says otherwise: "The tide turns every hour.".'
    ]


def test_notes_before_a_rejected_action_are_kept(tmp_path):
    written = call(("note", RULE), *[("recall", {"query": "mud"})] * 2)
    model = Model(written, "ACTION: frobnicate the milestone", LOOK)
    with ChatServer(model) as server, a_run(tmp_path, client_for(server), enable_critic=True) as run:
        run.reset_episode()
        assert run.process_turn().action == "look"
        assert len(tide_memories(run)) == 1
    assert ["tools" in body for body in model.asked] == [True, True, False]


def test_unfinished_turn_repeats_its_notes_without_asking_the_model(tmp_path):
    model = Model(note(), LOOK)
    with ChatServer(model) as server:
        game = CutGame(1, press_ctrl_c)
        with a_run(tmp_path, client_for(server), turns=5, game=game) as run, pytest.raises(KeyboardInterrupt):
            run.play_episode()
        before = len(model.asked)
        assert saved_in(tmp_path).checkpoint.turn == 0
        with a_run(tmp_path, client_for(server), turns=5) as run:
            resume(run, 1)
            assert tide_memories(run) == [(GAME, "The tide turns every hour.", "permanent", "agent")]
    assert len(model.asked) == before == 2


def test_recorded_run_replays_tool_calls(tmp_path):
    calls: list[CallRecord] = []
    model = Model(note(), LOOK)
    with ChatServer(model) as server, a_run(tmp_path / "first", client_for(server, calls), turns=2) as run:
        run.play_episode()
        first = tide_memories(run)
    with a_run(tmp_path / "again", RecordedLLM(calls), turns=2) as run:
        run.play_episode()
        assert tide_memories(run) == first
