"""The player that asks a language model."""

import re
from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel, Field

from zorkgpt.bounded import MODEL_ANSWER, parse_json
from zorkgpt.context.prompt import AGENT, PLAIN, fitted, prompt_sections
from zorkgpt.context.sections import DEFAULT_BUDGETS, Budgets, turns_shown
from zorkgpt.context.tools import MOST_CALLS, RESULT_TOKENS, AgentTools
from zorkgpt.errors import BudgetExceeded, InvalidAnswer, LLMError, LLMUnreachable, OutOfBounds
from zorkgpt.llm.client import Reader
from zorkgpt.llm.messages import Completion, Message, ToolCall
from zorkgpt.llm.model import LLM
from zorkgpt.llm.roles import Role
from zorkgpt.llm.tools import Toolbox, written_calls
from zorkgpt.llm.wire import RequestForm
from zorkgpt.log import get_logger
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.player import AgentDecision, Player, PlayerContext
from zorkgpt.prompts.render import render

log = get_logger(__name__)

_MAX_ANSWERS = 3
_MAX_REASONS = 2000
_ANSWER_TOKENS = 1000
_FULL = 0.8
"""Older turns are summarized when the history takes this share of its tokens."""
_MAX_FAILURES = 5
_MARKED = re.compile(r"^[\s>#*_`\-]*(?:next\s+|final\s+|my\s+)?(?:action|command)[\s*_`]*[:：](.*)$", re.IGNORECASE)
_QUOTING = " \t`*_\"'“”‘’>"
_MAX_COMMAND = 200
_ASK_AGAIN = """Your answer has no line that begins with ACTION: and names one command.
Answer again with that line only, for example:
ACTION: look"""


class AgentAnswer(BaseModel):
    """A typed answer, for models that don't write the ACTION line."""

    reasons: str = Field(max_length=_MAX_REASONS)
    action: str = Field(min_length=1, max_length=_MAX_COMMAND)


class Agent(Player):
    """Asks the model of the role `agent` for one command a turn.

    Args:
        budgets: The token budgets of the parts of the prompt.
        plain: Whether the model sees only the transcript of the episode, as a baseline.
        tools: The tools for the model; None without tools.
    """

    def __init__(
        self,
        llm: LLM,
        budgets: Budgets = DEFAULT_BUDGETS,
        *,
        plain: bool = False,
        tools: AgentTools | None = None,
    ) -> None:
        self._llm = llm
        self._tools = None if plain else tools
        self._budgets = budgets
        self._plain = plain
        self._context_length: int | None = None
        self._by_fields = False
        """Whether to ask for a typed answer, because the model failed to write the ACTION line before."""

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        """Return the model's command and its reasons. The model is asked again if its answer has no command.

        Raises:
            InvalidAnswer: If there was no command in three answers, nor in a typed one.
            LLMError: If the model could not be asked several times in a row.
        """
        budgets = _budgets_for(context, self._budgets, self._context_length, self._tools)
        decision = self._decision(context, budgets)
        fitting = turns_shown(context, replace(budgets, history=int(budgets.history * _FULL)))
        return replace(decision, summarize_to=fitting[0].turn - 1 if fitting else 0)

    def _decision(self, context: PlayerContext, budgets: Budgets) -> AgentDecision:
        if not self._by_fields:
            try:
                return self._in_words(prompt_for(context, budgets, plain=self._plain), context)
            except InvalidAnswer as problem:
                log.warning("asking the agent's model for a typed answer", extra={"problem": str(problem)})
        decision = self._in_fields(prompt_for(context, budgets, plain=self._plain, by_fields=True))
        self._by_fields = True
        return decision

    def _in_words(self, messages: list[Message], context: PlayerContext) -> AgentDecision:
        """Return the command and the reasons of an answer that ends in a line for the command."""
        question, thoughts, failures = messages, list[str](), 0
        # An earlier proposal of this turn that was rejected may have used up the calls.
        tools = None if self._tools is None or self._tools.spent else self._tools
        while failures < _MAX_ANSWERS:
            completion = self._ask(question, tools=tools)
            thoughts.append(_reasons(completion))
            calls = _calls(completion, tools)
            # If there are calls, a line without ACTION: is a remark or a call.
            action = _action(completion, () if calls else context.vocabulary)
            if action is not None:
                return AgentDecision(action, next(filter(None, reversed(thoughts)), ""))
            failures += tools is None or tools.spent or not calls
            if tools is not None and calls:
                messages = question = [*messages, *_with_results(completion, calls, tools, context)]
            else:
                question = [*messages, Message("assistant", completion.content[:1000]), Message("user", _ASK_AGAIN)]
        raise InvalidAnswer(
            f"The agent's model named no command in {_MAX_ANSWERS} answers; the last one began "
            f"{completion.content[:200]!r}."
        )

    def _in_fields(self, messages: list[Message]) -> AgentDecision:
        """Return the command and the reasons of a typed answer."""
        completion = self._ask(messages, AgentAnswer)
        answer = AgentAnswer.model_validate(completion.parsed)
        action = _command(answer.action)
        if action is None:
            raise InvalidAnswer(f"The agent's model named {answer.action[:200]!r} as its command.")
        return AgentDecision(action, "\n".join(filter(None, (completion.reasoning, answer.reasons))))

    def _ask(
        self, question: list[Message], form: type[AgentAnswer] | None = None, tools: AgentTools | None = None
    ) -> Completion:
        """Return the model's answer. Try again after a failure, but not after repeated ones."""
        toolbox = tools.toolbox if tools else None
        for failures in range(1, _MAX_FAILURES + 1):
            try:
                completion = self._llm.complete(question, role=Role.AGENT, response_model=form, tools=toolbox)
                break
            except (LLMUnreachable, BudgetExceeded, InvalidAnswer):
                # After an invalid answer, the client has already asked twice.
                raise
            except LLMError as error:
                if failures == _MAX_FAILURES:
                    raise
                log.warning("agent's model failed, asking again", extra={"failures": failures, "problem": str(error)})
        # The next prompts are limited to the context of the model that answered.
        if completion.context_length not in (None, self._context_length):
            self._context_length = completion.context_length
            log.info("prompts are limited to the model's context", extra={"tokens": completion.context_length})
        return completion


def reader(vocabulary: tuple[str, ...]) -> Reader:
    """Return a function that tells whether an answer of the agent's model has a command or a tool call."""

    def understands(answer: Completion, form: RequestForm) -> bool:
        if answer.tool_calls or (isinstance(form, Toolbox) and written_calls(answer.content, form)):
            return True
        return not answer.truncated and parse_action(answer.content, vocabulary) is not None

    return understands


def _budgets_for(
    context: PlayerContext, budgets: Budgets, context_length: int | None, tools: AgentTools | None
) -> Budgets:
    """Return the budgets with which a prompt fits into the context of the model; None if it is unknown."""
    if context_length is None:
        return budgets
    empty = render("agent", sections=(), plain=False, by_fields=False)
    around = estimated_tokens(empty.system) + estimated_tokens(empty.user)
    if tools is not None and tools.toolbox.fits(context_length):
        around += tools.toolbox.tokens + MOST_CALLS * RESULT_TOKENS
    return fitted(context, budgets, context_length - _ANSWER_TOKENS - around)


def prompt_for(
    context: PlayerContext, budgets: Budgets = DEFAULT_BUDGETS, *, plain: bool = False, by_fields: bool = False
) -> list[Message]:
    """Return the prompt: instructions, the episode so far, the present state.

    Args:
        plain: Whether to leave out the present state and its instructions.
        by_fields: Whether to ask for a typed answer, instead of one that ends with the ACTION line.
    """
    sections = prompt_sections(PLAIN if plain else AGENT, context, budgets)
    prompt = render("agent", sections=sections, plain=plain, by_fields=by_fields)
    return [Message("system", prompt.system), Message("user", prompt.user)]


def _calls(completion: Completion, tools: AgentTools | None) -> tuple[ToolCall, ...]:
    """Return the calls in an answer. Calls written as text have no id."""
    if tools is None or completion.tool_calls or completion.truncated:
        return completion.tool_calls
    return written_calls(completion.content, tools.toolbox)


def _with_results(
    completion: Completion, calls: Sequence[ToolCall], tools: AgentTools, context: PlayerContext
) -> list[Message]:
    """Return the messages for an answer that calls tools, and for the results."""
    results = [(call, tools.result(call, context)) for call in calls]
    if completion.tool_calls:
        answer = Message("assistant", completion.content, completion.tool_calls, reasoning=completion.reasoning)
        return [answer, *(Message("tool", result, tool_call_id=call.id) for call, result in results)]
    text = "\n\n".join(f"Result of {call.name}:\n{result}" for call, result in results)
    return [Message("assistant", completion.content[:1000]), Message("user", text)]


def _action(completion: Completion, vocabulary: tuple[str, ...]) -> str | None:
    # The command comes last, so a truncated answer may contain only a part of it.
    return None if completion.truncated else parse_action(completion.content, vocabulary)


def _reasons(completion: Completion) -> str:
    lines = [line for line in completion.content.splitlines() if not _MARKED.match(line)]
    return "\n".join(filter(None, (completion.reasoning, "\n".join(lines).strip())))


def parse_action(text: str, vocabulary: tuple[str, ...] = ()) -> str | None:
    """Return the command in a model's answer: the text of the last `ACTION:` line; None if there is none.

    Also accepted: a JSON object with the key `action`, and a single line whose first word the game's parser knows.
    """
    lines = text.splitlines()
    for number in range(len(lines) - 1, -1, -1):
        marked = _MARKED.match(lines[number])
        if marked:
            following = next((line for line in lines[number + 1 :] if line.strip("` \t")), "")
            return _command(marked.group(1)) or _command(following)
    return _from_object(text) or _bare(lines, vocabulary)


def _from_object(text: str) -> str | None:
    start, end = text.find("{"), text.rfind("}")
    try:
        value = parse_json(text[start : end + 1], MODEL_ANSWER, lenient=True)
    except OutOfBounds:
        return None
    action = value.get("action") if isinstance(value, dict) else None
    return _command(action) if isinstance(action, str) else None


def _bare(lines: list[str], vocabulary: tuple[str, ...]) -> str | None:
    nonempty = [line for line in lines if line.strip("` \t")]
    command = _command(nonempty[0]) if len(nonempty) == 1 else None
    if command is None or len(command.split()) > 8:
        return None
    first = command.split()[0].lower()
    # Parsers truncate words to 6 or 9 letters, depending on the version.
    is_known = any(word.lower() in (first, first[:6], first[:9]) for word in vocabulary)
    return command if is_known else None


def _command(text: str) -> str | None:
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    line = " ".join(line.split()).strip(_QUOTING).removesuffix(".").strip(_QUOTING)
    # "<your command>" repeats the placeholder of the prompt.
    if not any(letter.isalnum() for letter in line) or line.startswith(("<", "[")) or len(line) > _MAX_COMMAND:
        return None
    return line
