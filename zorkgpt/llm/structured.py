"""Typed answers: the requested JSON schema, and the parser of answers."""

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
# A brace followed by a key or a closing brace. Other braces are part of prose.
_START = re.compile(r"""\{(?=\s*(?:["'}]|\w+\s*:))""")
BARE_OBJECT = "Answer with one JSON object and nothing else."
"""The instruction if the schema is in the request. Some servers require the word JSON in the prompt."""

FORM_HEADING = "The answer is one JSON object of this JSON schema:"
_MAX_REPAIR_LENGTH = 20_000
_MAX_REPAIR_DEPTH = 20
"""The time of a repair grows with the square of the depth."""
_MAX_QUOTE = 2_000
_MAX_STRING = 300
"""llama-cpp-python converts each character to a nested grammar rule. At 2,000 its process crashes."""
_MAX_LIST = 4


def json_schema(model: type[BaseModel], *, bounded: bool = False) -> dict[str, Any]:
    """Return the JSON schema of a pydantic model in strict form: all fields required, no others, no defaults.

    Args:
        bounded: Whether to limit every string and list, for servers that enforce the schema by a grammar. Without
            limits, small models may never end a string or list. But other servers reject limits of strings, and
            pydantic checks them anyway.
    """
    schema: dict[str, Any] = _strict(model.model_json_schema(), bounded)
    return schema


def _strict(node: Any, bounded: bool) -> Any:
    if isinstance(node, list):
        return [_strict(part, bounded) for part in node]
    if not isinstance(node, dict):
        return node
    dropped = {"default", "title", "uniqueItems", "minLength", "maxLength", "pattern"}
    kept = {key: value for key, value in node.items() if key not in dropped or isinstance(value, dict)}
    strict = {key: _strict(value, bounded) for key, value in kept.items()}
    if isinstance(strict.get("properties"), dict):
        # The docstring of a pydantic model is for developers, not for the model.
        strict.pop("description", None)
        strict |= {"required": list(strict["properties"]), "additionalProperties": False}
    if bounded and strict.get("type") == "string" and "enum" not in strict:
        strict["maxLength"] = min(node.get("maxLength", _MAX_STRING), _MAX_STRING)
        strict["minLength"] = node.get("minLength", 0)
    if bounded and strict.get("type") == "array":
        strict["maxItems"] = min(node.get("maxItems", _MAX_LIST), _MAX_LIST)
    return strict


def form_of(model: type[BaseModel]) -> str:
    """Return the instruction with the schema of the answer."""
    schema = json.dumps(json_schema(model), ensure_ascii=False)
    return f"{FORM_HEADING}\n{schema}"


def read_answer(text: str, model: type[Answer]) -> tuple[Answer, int]:
    """Parse a model's answer. It may be fenced, be surrounded by prose, or have small mistakes in its JSON.

    Numbers outside of their bounds are clipped, because many servers don't enforce the bounds of a schema.

    Returns:
        The answer, and how many of its numbers were clipped.

    Raises:
        InvalidAnswer: If it contains no object that matches the model.
    """
    problem = "it contains no JSON object"
    for candidate in _objects(text):
        try:
            return model.model_validate(candidate), 0
        except ValidationError as error:
            problem, clipped = described(error), _clipped(candidate, error)
        if clipped:
            try:
                return model.model_validate(candidate), clipped
            except ValidationError as error:
                problem = described(error)
    raise InvalidAnswer(f"The answer is not a valid {model.__name__}: {problem}")


def _clipped(value: dict[str, Any], error: ValidationError) -> int:
    """Set the numbers outside of their bounds to the bound. Return how many there are."""
    clipped = 0
    for problem in error.errors(include_url=False):
        bound = next((problem["ctx"][name] for name in ("ge", "le") if name in problem.get("ctx", {})), None)
        if bound is None:
            continue
        holder: Any = value
        *path, last = problem["loc"]
        try:
            for step in path:
                holder = holder[step]
            holder[last] = bound
        except (LookupError, TypeError):
            # The path of a union names its variants too.
            continue
        clipped += 1
    return clipped


def _objects(text: str) -> Iterator[dict[str, Any]]:
    # The last object first, because earlier ones are drafts or examples.
    parts = [*_FENCE.findall(text), text]
    for part in parts:
        yield from reversed(list(valid_objects(part)))
    for part in parts:
        repaired = _repaired(part)
        if repaired is not None:
            log.debug("model answer repaired", extra={"characters": len(part)})
            yield repaired


def valid_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects before the first invalid one. Objects nested in an invalid one are not answers."""
    start = _START.search(text)
    while start:
        try:
            value, end = parse_json_at(text, start.start(), MODEL_ANSWER)
        except OutOfBounds:
            return
        yield value
        start = _START.search(text, end)


def _repaired(text: str) -> dict[str, Any] | None:
    # Only complete objects, because repairing a truncated one would invent its end.
    start, end = _START.search(text), text.rfind("}")
    if not start or end < start.start() or end - start.start() > _MAX_REPAIR_LENGTH:
        return None
    broken = text[start.start() : end + 1]
    if nests_deeply(broken, _MAX_REPAIR_DEPTH):
        return None
    # Imported on use, because most runs need no repair.
    import json_repair

    try:
        value = json_repair.loads(broken, skip_json_loads=True)
    except ValueError:
        return None
    return value if isinstance(value, dict) and value else None


def described(error: ValidationError) -> str:
    """Return the problem of each field, for the model."""
    lines = (
        f"{'.'.join(str(part) for part in problem['loc']) or 'the object'}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False)
    )
    return "; ".join(lines)[:_MAX_QUOTE]


def with_value(completion: Completion, model: type[BaseModel]) -> Completion:
    """Return a completion with its typed value, or with the problem why it has none."""
    if completion.parsed is not None or completion.problem is not None:
        return completion
    try:
        parsed, clipped = read_answer(completion.content, model)
    except InvalidAnswer as problem:
        return replace(completion, problem=str(problem))
    return replace(completion, parsed=parsed, clipped=clipped)


def ask_for(
    ask: Callable[[list[Message]], Completion], messages: list[Message], model: type[BaseModel] | None
) -> Completion:
    """Ask for a typed answer, or any if `model` is None. If it can't be parsed, ask again with the problem.

    Args:
        ask: Sends messages, together with the schema.

    Raises:
        InvalidAnswer: If the second answer can't be parsed either.
    """
    completion = ask(messages)
    if model is None:
        return completion
    completion = with_value(completion, model)
    if completion.problem is not None:
        log.info("invalid model answer, asking again", extra={"problem": completion.problem})
        completion = with_value(ask([*messages, *_correction(completion)]), model)
    if completion.problem is not None:
        raise InvalidAnswer(completion.problem)
    return completion


def with_form(messages: list[Message], model: type[BaseModel]) -> list[Message]:
    """Append the schema of the answer to the first message, which servers can cache, and a reminder to the last."""
    first, *rest = messages
    return with_instruction([*with_instruction([first], form_of(model)), *rest], f"{BARE_OBJECT[:-1]}, of that schema.")


def with_instruction(messages: list[Message], instruction: str) -> list[Message]:
    """Append an instruction to the last message."""
    *before, last = messages
    return [*before, Message(last.speaker, f"{last.content}\n\n{instruction}")]


def _correction(completion: Completion) -> list[Message]:
    question = f"That can't be read. {completion.problem}\nAnswer again."
    return [Message("assistant", completion.content[:_MAX_QUOTE]), Message("user", question)]
