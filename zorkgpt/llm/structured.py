"""Typed answers: the JSON schema that is requested, and parsing what comes back."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from zorkgpt.bounded import MODEL_ANSWER, nests_deeply, parse_json_at
from zorkgpt.errors import InvalidAnswer, OutOfBounds
from zorkgpt.llm.messages import Answer, Completion, Message
from zorkgpt.log import get_logger

log = get_logger(__name__)

_FENCE = re.compile(r"```(?:json)?[^\S\n]*\n(.*?)```", re.DOTALL | re.IGNORECASE)
# A brace with a key after it, or none: not the braces that people put into prose.
_START = re.compile(r"""\{(?=\s*(?:["'}]|\w+\s*:))""")
BARE_OBJECT = "Answer with one JSON object and nothing else."
"""The instruction where the schema stands in the request; some servers insist that a prompt says JSON."""

FORM_HEADING = "The answer is one JSON object of this JSON schema:"
_LONGEST_REPAIR = 20_000
_DEEPEST_REPAIR = 20
"""The time that a repair takes grows with the square of the depth."""
_LONGEST_QUOTE = 2_000
_LONGEST_STRING = 300
"""llama-cpp-python makes a nested rule of each letter: at 2,000 its process crashes."""
_LONGEST_LIST = 4


def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a pydantic model in strict form: every field required, no others, no defaults.

    Limits on strings and uniqueness are left out: servers refuse them, and pydantic checks them anyway.
    """
    return _strict_schema(model.model_json_schema(), bounded=False)


def bounded_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema in strict form with a limit for every string and list, for servers with a grammar.

    A small model that a grammar holds to the schema may otherwise never end a string or a list.
    """
    return _strict_schema(model.model_json_schema(), bounded=True)


def _strict(node: Any, *, bounded: bool) -> Any:
    if isinstance(node, list):
        return [_strict(part, bounded=bounded) for part in node]
    return _strict_schema(node, bounded=bounded) if isinstance(node, dict) else node


def _strict_schema(schema: dict[str, Any], *, bounded: bool) -> dict[str, Any]:
    dropped = {"default", "title", "uniqueItems", "minLength", "maxLength", "pattern"}
    kept = {key: value for key, value in schema.items() if key not in dropped or isinstance(value, dict)}
    strict = {key: _strict(value, bounded=bounded) for key, value in kept.items()}
    if isinstance(strict.get("properties"), dict):
        # The docstring of a pydantic model is written for readers of the code.
        strict.pop("description", None)
        strict |= {"required": list(strict["properties"]), "additionalProperties": False}
    if bounded and strict.get("type") == "string" and "enum" not in strict:
        strict["maxLength"] = min(schema.get("maxLength", _LONGEST_STRING), _LONGEST_STRING)
        strict["minLength"] = schema.get("minLength", 0)
    if bounded and strict.get("type") == "array":
        strict["maxItems"] = min(schema.get("maxItems", _LONGEST_LIST), _LONGEST_LIST)
    return strict


def form_of(model: type[BaseModel]) -> str:
    """Return the instruction that names the form of the answer."""
    schema = json.dumps(json_schema(model), ensure_ascii=False)
    return f"{FORM_HEADING}\n{schema}"


def read_answer(text: str, model: type[Answer]) -> Answer:
    """Parse a model's answer: bare, fenced, with prose around it, or with small mistakes in its JSON.

    Raises:
        InvalidAnswer: If there is no object in it, or none that fits.
    """
    problem = "it holds no JSON object"
    for candidate in _objects(text):
        try:
            return model.model_validate(candidate)
        except ValidationError as error:
            problem = described(error)
    raise InvalidAnswer(f"The answer is no valid {model.__name__}: {problem}")


def _objects(text: str) -> Iterator[dict[str, Any]]:
    # The last one first: those before it are drafts or examples.
    parts = [*_FENCE.findall(text), text]
    for part in parts:
        yield from reversed(list(valid_objects(part)))
    for part in parts:
        repaired = _repaired(part)
        if repaired is not None:
            log.debug("model answer repaired", extra={"characters": len(part)})
            yield repaired


def valid_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects before the first invalid one: what is nested in an invalid one is no answer by itself."""
    start = _START.search(text)
    while start:
        try:
            value, end = parse_json_at(text, start.start(), MODEL_ANSWER)
        except OutOfBounds:
            return
        yield value
        start = _START.search(text, end)


def _repaired(text: str) -> dict[str, Any] | None:
    # Only an object that was closed: the rest of one that was cut off would be invented.
    start, end = _START.search(text), text.rfind("}")
    if not start or end < start.start() or end - start.start() > _LONGEST_REPAIR:
        return None
    broken = text[start.start() : end + 1]
    if nests_deeply(broken, _DEEPEST_REPAIR):
        return None
    # Most answers need no repair, so most runs need not load the library.
    import json_repair

    try:
        value = json_repair.loads(broken, skip_json_loads=True)
    except ValueError:
        return None
    return value if isinstance(value, dict) and value else None


def described(error: ValidationError) -> str:
    """Return what is wrong with each field, for the model."""
    lines = (
        f"{'.'.join(str(part) for part in problem['loc']) or 'the object'}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False)
    )
    return "; ".join(lines)[:_LONGEST_QUOTE]


def ask_for(
    ask: Callable[[list[Message]], Completion],
    messages: list[Message],
    model: type[Answer],
    on_invalid: Callable[[Completion], None] = lambda completion: None,
) -> Completion:
    """Ask for an answer of this form; if it can't be parsed, ask once more and say what was wrong.

    Args:
        ask: Sends messages, and tells the form where it is told.
        on_invalid: Called with an answer that can't be parsed, before the second question.

    Raises:
        InvalidAnswer: If the second answer can't be parsed either.
    """
    completion = ask(messages)
    try:
        parsed = read_answer(completion.content, model)
    except InvalidAnswer as problem:
        log.info("model answer not understood, asking once more", extra={"problem": str(problem)})
        on_invalid(completion)
        completion = ask([*messages, *_correction(completion.content, problem)])
        parsed = read_answer(completion.content, model)
    return replace(completion, parsed=parsed)


def with_form(messages: list[Message], model: type[BaseModel]) -> list[Message]:
    """Append the form of the answer to the first message, which servers can cache, and a reminder to the last."""
    first, *rest = messages
    return with_instruction([*with_instruction([first], form_of(model)), *rest], f"{BARE_OBJECT[:-1]}, of that schema.")


def with_instruction(messages: list[Message], instruction: str) -> list[Message]:
    """Append an instruction to the last message."""
    *before, last = messages
    return [*before, Message(last.speaker, f"{last.content}\n\n{instruction}")]


def _correction(content: str, problem: InvalidAnswer) -> list[Message]:
    question = f"That can't be read. {problem}\nAnswer again."
    return [Message("assistant", content[:_LONGEST_QUOTE]), Message("user", question)]
