"""The parts of an answer's text: reasoning in any brackets, the marks of a chat template, and the answer itself."""

import re

_NAMES = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad")
_BRACKETS = {
    **{name: (rf"<(?:\w+:)?{name}(?:\s[^<>]{{0,40}})?>", rf"</(?:\w+:)?{name}>") for name in _NAMES},
    "bracket": (r"\[THINK\]", r"\[/THINK\]"),
    "triangle": (r"◁think▷", r"◁/think▷"),
    "pipe": (r"<\|think(?:ing)?\|>", r"<\|/think(?:ing)?\|>"),
    "begin": (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    "start": (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    "channel": (r"<\|channel>thought\b", r"<channel\|>"),
}
"""The opening and the closing bracket of reasoning in the formats of model families."""
_OPENING = re.compile("|".join(f"(?P<{name}>{opening})" for name, (opening, _) in _BRACKETS.items()), re.IGNORECASE)
_CLOSING = {name: re.compile(closing, re.IGNORECASE) for name, (_, closing) in _BRACKETS.items()}
_ANY_OPENING = "|".join(opening for opening, _ in _BRACKETS.values())
_ANY_CLOSING = "|".join(closing for _, closing in _BRACKETS.values())
# Some chat templates open the block themselves, so the answer contains only its end.
_ONLY_CLOSED = re.compile(rf"\A(?P<thought>.*?)(?:{_ANY_CLOSING})", re.DOTALL | re.IGNORECASE)
# Only at the start of a line, because a tag inside a JSON string is text.
_ONLY_OPENED = re.compile(rf"^[ \t]*(?:{_ANY_OPENING})(?P<thought>.*)\Z", re.DOTALL | re.IGNORECASE | re.MULTILINE)

# The channels of gpt-oss: <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...
_CHANNEL = re.compile(
    r"(?:<\|start\|>\w*[^<]{0,60})?<\|channel\|>\s*(?P<name>\w+)[^<]{0,80}(?:<\|constrain\|>[^<]{0,20})?<\|message\|>"
)
# Some servers remove the marks and leave the names.
_BARE_CHANNELS = re.compile(
    r"\A(?:assistant)?analysis(?P<thought>.*?)assistant(?:commentary.*?assistant)?final(?P<final>.*)\Z", re.DOTALL
)
_END_OF_CHANNEL = re.compile(r"<\|(?:end|return|call)\|>")

_MARK = (
    r"<\|/?(?!channel|message|begin_of_|START_|think)[\w.-]{1,40}\|>|<｜[^<>｜\s]{1,40}｜>|<(?:end_of_turn|eos|end_of_utterance)>"
    r"|</s>(?=\s*(?:\Z|<|\[INST))|\[/INST\](?=\s*\Z)|<\|im_end(?=\s*\Z)"
)
_FIRST_MARK = re.compile(_MARK)
_OPENING_MARKS = re.compile(
    r"\A\s*(?:(?:<s>|<\|im_start\|>|<\|start\|>|<\|start_header_id\|>|<start_of_turn>|<｜Assistant｜>|<\|assistant\|>|<\|end_header_id\|>"
    r"|\[/INST\])(?:assistant|model)?\s*)+"
)
_AROUND = re.compile(
    r"\A\s*<(?P<name>answer|response|output|final_answer)>(?P<inner>.*?)(?:</(?P=name)>)?\s*\Z"
    r"|\A\s*<\|(?:begin_of_solution|START_RESPONSE)\|>(?P<solution>.*?)(?:<\|(?:end_of_solution|END_RESPONSE)\|>)?\s*\Z",
    re.DOTALL | re.IGNORECASE,
)


def split_reasoning(text: str) -> tuple[str, str]:
    """Split a text into the answer and the reasoning, without the marks of the chat template.

    A block of reasoning without an end extends to the end of the text, and a block without a start begins at its start.
    """
    text, thoughts = _without_channels(text)
    text, blocks = _without_blocks(text)
    thoughts += blocks

    def take(match: re.Match[str]) -> str:
        thoughts.append(match["thought"])
        return ""

    text = _ONLY_CLOSED.sub(take, text)
    text = _ONLY_OPENED.sub(take, text)
    cleaned = (_without_marks(thought) for thought in thoughts)
    return _unwrapped(_without_marks(text)), "\n".join(thought for thought in cleaned if thought)


def _without_channels(text: str) -> tuple[str, list[str]]:
    """Return the text of the final channel, and the texts of the others. Without channels, the text stays as it is."""
    channels = list(_CHANNEL.finditer(text))
    if not channels:
        bare = _BARE_CHANNELS.match(text)
        return (bare["final"], [bare["thought"]]) if bare else (text, [])
    # Without the first bracket, the text begins within the reasoning.
    parts = [("analysis", text[: channels[0].start()])]
    ends = [*(channel.start() for channel in channels[1:]), len(text)]
    for channel, end in zip(channels, ends, strict=True):
        content = text[channel.end() : end]
        closing = _END_OF_CHANNEL.search(content)
        parts.append((channel["name"].lower(), content[: closing.start()] if closing else content))
    final = [content for name, content in parts if name == "final"]
    others = [content for name, content in parts if name != "final"]
    return "\n".join(final), others


def _without_blocks(text: str) -> tuple[str, list[str]]:
    """Return the text without its closed blocks, and the contents of the blocks, in linear time."""
    kept, thoughts, at = list[str](), list[str](), 0
    unclosed: set[str] = set()
    for opening in _OPENING.finditer(text):
        name = opening.lastgroup or ""
        if opening.start() < at or name in unclosed:
            continue
        if closing := _CLOSING[name].search(text, opening.end()):
            kept.append(text[at : opening.start()])
            thoughts.append(text[opening.end() : closing.start()])
            at = closing.end()
        else:
            unclosed.add(name)
    return "".join((*kept, text[at:])), thoughts


def _without_marks(text: str) -> str:
    """Return the text up to the first mark that ends a turn. What follows is a turn that the model invented."""
    text = _OPENING_MARKS.sub("", text, count=1)
    mark = _FIRST_MARK.search(text)
    return (text[: mark.start()] if mark else text).strip()


def _unwrapped(text: str) -> str:
    match = _AROUND.match(text)
    if match is None:
        return text
    return next(part for part in (match["inner"], match["solution"]) if part is not None).strip()
