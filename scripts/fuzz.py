"""Feed generated and damaged input to the parsers of untrusted data, until a property fails or the time is up.

    uv run --all-groups python -m scripts.fuzz {bounded,memory-file,answers,commands,checkpoint} --minutes 10

A failure prints the smallest failing input. Add a test for it beside the other tests of the parser.
"""

import argparse
import json
import logging
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.sanitize import MAX_LENGTH, clean_command, clean_key
from game_interface.models import Language, Scene
from game_interface.story import INFRASTRUCTURE
from tests.fixtures.documents import added
from tests.fixtures.memory import FORGERIES, in_one_line, memories, texts
from tests.fixtures.runs import a_run
from tests.fixtures.saved import saved_in, write_checkpoint
from zorkgpt.action_check import check_action
from zorkgpt.agent import AgentAnswer, parse_action
from zorkgpt.bounded import ReadLimits, json_object, nests_deeply, parse_json, parse_json_at
from zorkgpt.context.turns import SummaryAnswer
from zorkgpt.critic import CriticAnswer
from zorkgpt.errors import CheckpointError, CommandRefused, InvalidAnswer, LLMError, OutOfBounds, ZorkGPTError
from zorkgpt.knowledge.synthesis import LessonsAnswer
from zorkgpt.llm import wire
from zorkgpt.llm.structured import read_answer, valid_objects
from zorkgpt.llm.tools import Tool, Toolbox, written_calls
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.answers import MemorySynthesisResponse
from zorkgpt.memory.dedup.judge import Verdicts
from zorkgpt.memory.settings import MEMORY_FILE
from zorkgpt.memory.storage.document import Document, parse, render
from zorkgpt.objectives.finder import ObjectivesAnswer
from zorkgpt.record.events import EventKind
from zorkgpt.run_folder import EPISODE_LOG, run_directory
from zorkgpt.runlog.saved_episodes import recorded_in

ROUND = 100
NEW_PLACE = 987_654
LONGEST_S = 10
"""Maximum time for an input, even on a slow machine."""
SMALL = ReadLimits("The letter", "It is sent back.", max_bytes=2000, max_depth=6)
ANSWERS = (
    AgentAnswer,
    CriticAnswer,
    LessonsAnswer,
    MemorySynthesisResponse,
    ObjectivesAnswer,
    SummaryAnswer,
    Verdicts,
)
ODD_JSON = (
    "NaN",
    "-Infinity",
    "1e999",
    "-0",
    "1" * 4301,
    '"\\ud800"',
    "\ufeff",
    '{"a":1,"a":2}',
    "[" * 120,
    '{"":' * 9,
)


def damaged(sound: st.SearchStrategy[bytes], pieces: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Return valid inputs with up to six parts cut, repeated, overwritten or inserted."""

    @st.composite
    def damage(draw: Callable[..., Any]) -> bytes:
        data = draw(sound)
        for _ in range(draw(st.integers(0, 6))):
            start = draw(st.integers(0, len(data)))
            stop = min(len(data), start + draw(st.integers(0, 40)))
            kind = draw(st.sampled_from(["cut", "repeat", "write", "insert"]))
            middle = {"cut": b"", "repeat": data[start:stop] * 2}.get(kind)
            if middle is None:
                middle = draw(pieces)
            data = data[:start] + middle + data[start if kind == "insert" else stop :]
        return data

    return damage()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
json_pieces = st.sampled_from([*ODD_JSON, *'[]{}",:\\', "```json\n", "<think>", "</think>", "ACTION: "]) | texts
json_bytes = damaged(
    json_values.map(lambda value: json.dumps(value).encode()),
    json_pieces.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=8),
)


def depth_of(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


@given(json_bytes, st.booleans(), st.booleans())
def bounded(data, lenient, finite):
    """JSON within the limits is parsed as by Python. Everything else raises OutOfBounds."""
    try:
        value = parse_json(data, SMALL, lenient=lenient, finite=finite and not lenient)
    except OutOfBounds:
        pass
    else:
        assert len(data) <= SMALL.max_bytes
        assert depth_of(value) <= SMALL.max_depth
        assert repr(value) == repr(json.loads(data, strict=not lenient))
        assert lenient or not finite or not re.search(r"\b(?:nan|inf)\b", repr(value)) or '"' in repr(data)
    found = json_object(data, SMALL)
    assert found is None or isinstance(found, dict)
    text = data.decode("utf-8", "replace")
    nests_deeply(text, 5)
    for start in range(0, len(text), 1 + len(text) // 5):
        with suppress(OutOfBounds):
            _, end = parse_json_at(text, start, SMALL)
            assert start < end <= len(text)


@st.composite
def memory_files(draw) -> bytes:
    document = Document()
    places = st.integers(-3, 300) | st.text('ab/:"\\é #', min_size=1).filter(str.strip)
    for place, name, memory in draw(st.lists(st.tuples(places, texts, memories()), max_size=4)):
        document = added(document, place, name, memory)
    return render(document)


MEMORY_PIECES = (
    *FORGERIES,
    "\n## Location 5: Hall\n",
    '\n## Location "a/b": Hall\n',
    "\n## Thing 181: door\n",
    "\n## Game\n",
    "\n### Memories\n",
    "**Visits:** 99999999999999999999 | **Episodes:** 1\n",
    "<<<<<<< HEAD\n",
    "=======\n",
    ">>>>>>> x\n",
    "\r\n",
    "\r",
    "`id: x`",
    "*(Ep1, T1, +0, seen 9x, worked 1/2, pinned, expires 2020-01-01)*",
)


memory_pieces = st.sampled_from(MEMORY_PIECES).map(lambda text: text.encode("utf-8", "surrogatepass"))


@given(damaged(memory_files(), memory_pieces | st.binary(max_size=6)), memories())
def memory_file(data, new):
    """Every file is parsed without an error and kept byte for byte, and added memories are read back."""
    document = parse(data)
    problems = list(document.problems())
    assert all(problem.line >= 1 for problem in problems)
    assert render(document) == data
    before = document.by_place()
    changed = added(document, 5, "Hall", new)
    written = render(changed)
    after = parse(written).by_place()
    assert after == changed.by_place()
    assert in_one_line(new) in after[5]
    assert {place: kept for place, kept in after.items() if place != 5} == {
        place: kept for place, kept in before.items() if place != 5
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Memories.md"
        path.write_bytes(data)
        try:
            with AgentMemory.open(path) as memory:
                memory.recall(5)
                memory.search("trap door")
                memory.remember(NEW_PLACE, "It is cold.", title="Cold")
        except ZorkGPTError:
            assert path.read_bytes() == data
            return
        with AgentMemory.open(path) as memory:
            assert "It is cold." in memory.recall(NEW_PLACE)
        # The episode is added to headers without one.
        kept = path.read_bytes() + re.sub(rb" \*\(Ep[^)\n]*, T0\)\*", b"", path.read_bytes())
        lost = [line for line in data.splitlines() if line.strip() and line not in kept]
        # An expired memory is deleted.
        assert lost == [] or b"expires" in data


def answer_values(form: type[BaseModel]) -> st.SearchStrategy[dict[str, Any]]:
    keys = st.sampled_from(sorted(form.model_fields)) | texts
    words = st.sampled_from(["SUCCESS", "core", "ephemeral", "ACTIVE", "here", 0.5, True, None, [], {}, ["Sword"]])
    return st.dictionaries(keys, words | json_values, max_size=16)


class Query(BaseModel):
    """The arguments of a tool."""

    query: str


TOOLBOX = Toolbox((Tool("recall", "Search.", Query),), "", 0)


@given(st.data())
def answers(data):
    """Every model answer is parsed to a typed value or raises InvalidAnswer."""
    form = data.draw(st.sampled_from(ANSWERS))
    values = answer_values(form).map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    pieces = json_pieces.map(lambda text: text.encode("utf-8", "replace"))
    text = data.draw(damaged(values, pieces)).decode("utf-8", "replace")
    with suppress(InvalidAnswer):
        assert isinstance(read_answer(text, form)[0], form)
    assert all(isinstance(value, dict) for value in valid_objects(text))
    answer, thoughts = wire.split_reasoning(text)
    assert len(answer) + len(thoughts) <= len(text)
    action = parse_action(text)
    assert action is None or (action.strip() and "\n" not in action)
    for call in written_calls(text, TOOLBOX):
        with suppress(ZorkGPTError):
            TOOLBOX.arguments_of(call)
    response = data.draw(
        json_values | st.dictionaries(st.sampled_from(["choices", "usage", "error", "message"]), json_values)
    )
    shape = {
        "choices": [{"message": {"content": text, "tool_calls": response}, "finish_reason": response}],
        "usage": response,
    }
    for each in (as_namespace(response), as_namespace(shape), text):
        with suppress(LLMError):
            wire.check_completion(each)
            wire.read(each, takes_calls=True)


def as_namespace(value: Any) -> Any:
    """Return JSON values as objects like those of the SDK."""
    if isinstance(value, dict):
        return SimpleNamespace(**{str(key): as_namespace(each) for key, each in value.items()})
    return [as_namespace(each) for each in value] if isinstance(value, list) else value


@cache
def story() -> tuple[Language, Scene | None]:
    path = next(iter(sorted((INFRASTRUCTURE / "games").glob("*.z[1-8]"))))
    with JerichoInterface(path, seed=1) as game:
        game.reset()
        return game.language, game.scene()


def commands_of(language: Language) -> st.SearchStrategy[str]:
    words = st.sampled_from(sorted({*language.words, *language.verbs, *language.names, "the", "all", "then", ",", "."}))
    letters = st.text(st.characters(), max_size=8)
    return st.lists(words | letters, max_size=45).map(" ".join) | st.text(max_size=120)


def assert_printable(message: str) -> None:
    assert message.isprintable()


@given(st.data())
def commands(data):
    """Every command is refused with a reason, or becomes a line of ASCII that a second cleaning doesn't change."""
    language, scene = story()
    text = data.draw(commands_of(language))
    grammar = data.draw(st.sampled_from([language, None]))
    try:
        command = clean_command(text, language=grammar)
    except CommandRefused as refusal:
        assert_printable(str(refusal))
    else:
        assert command.isascii()
        assert command.isprintable()
        assert 0 < len(command) <= MAX_LENGTH
        assert clean_command(command, language=grammar) == command
    with suppress(CommandRefused):
        key = clean_key(text)
        assert key.isascii()
        assert key.isprintable()
    for known in (scene, None):
        check = check_action(text, language, known, answering=data.draw(st.booleans()))
        assert (check.reason == "") == check.valid
        assert check.reason.isprintable()


@cache
def an_episode() -> tuple[bytes, dict[str, Any], bytes]:
    """Return the record of an interrupted episode, its checkpoint and its log."""
    with tempfile.TemporaryDirectory() as folder:
        workdir = Path(folder)
        with a_run(workdir, turns=3) as run:
            run.play_episode()
        with recorded_in(workdir) as events:
            last = events.last(1, EventKind.CHECKPOINT)
        assert last is not None
        log = run_directory(workdir, 1) / EPISODE_LOG
        return Path(f"{workdir / MEMORY_FILE}.sqlite").read_bytes(), json.loads(last.content), log.read_bytes()


def changed(value: Any, draw: Callable[..., Any]) -> Any:
    """Return the value with one part, at any depth, replaced or removed."""
    if isinstance(value, dict | list) and value and draw(st.integers(0, 4)):
        key = draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
        copy = value.copy()
        if draw(st.integers(0, 6)):
            copy[key] = changed(value[key], draw)
        else:
            del copy[key]
        return copy
    return draw(json_values | st.sampled_from([0, -1, 10**30, "", "!", [], {}]))


def with_part(value: Any, path: list[str], draw: Callable[..., Any]) -> Any:
    """Return the value with a change inside the part at this path."""
    return value | {path[0]: with_part(value[path[0]], path[1:], draw)} if path else changed(value, draw)


@given(st.data())
def checkpoint(data):
    """A checkpoint is read and its episode resumed, or CheckpointError is raised."""
    record, body, log = an_episode()
    if data.draw(st.booleans()):
        # Most of the fields are in the snapshots.
        part = data.draw(st.sampled_from(["", "run", *[f"snapshots.{name}" for name in sorted(body["snapshots"])]]))
        text = json.dumps(with_part(body, part.split(".") if part else [], data.draw)).encode()
    else:
        text = data.draw(damaged(st.just(json.dumps(body).encode()), json_bytes))
    with tempfile.TemporaryDirectory() as folder:
        workdir = Path(folder)
        directory = run_directory(workdir, 1)
        directory.mkdir(parents=True)
        (directory / EPISODE_LOG).write_bytes(log)
        Path(f"{workdir / MEMORY_FILE}.sqlite").write_bytes(record)
        write_checkpoint(workdir, text.decode("utf-8", "replace"))
        with suppress(CheckpointError):
            saved_in(workdir)
            with a_run(workdir, turns=4) as resumed:
                resumed.play_episode(resume=1)


TARGETS = {
    "bounded": bounded,
    "memory-file": memory_file,
    "answers": answers,
    "commands": commands,
    "checkpoint": checkpoint,
}


def out_of_time(signal_number: int, frame: Any) -> None:
    raise TimeoutError(f"An input took more than {LONGEST_S} s.")


def with_alarm(test: Callable[..., None]) -> Callable[..., None]:
    """Return the property with a time limit for each input."""
    inner = test.hypothesis.inner_test

    def timed(*arguments: Any, **named: Any) -> None:
        signal.alarm(LONGEST_S)
        try:
            inner(*arguments, **named)
        finally:
            signal.alarm(0)

    test.hypothesis.inner_test = timed
    return test


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(10**9))
    given_options = parser.parse_args()
    logging.disable()
    signal.signal(signal.SIGALRM, out_of_time)
    profile = settings(
        max_examples=ROUND,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    test = profile(with_alarm(TARGETS[given_options.target]))
    ends, rounds = time.monotonic() + 60 * given_options.minutes, 0
    while time.monotonic() < ends:
        seed(given_options.seed + rounds)(test)()
        rounds += 1
    print(f"{given_options.target}: no finding in {ROUND * rounds:,} inputs, seeds from {given_options.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
