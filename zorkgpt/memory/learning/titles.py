"""Which memory a model means by a title that it did not copy exactly."""

from collections.abc import Sequence

from zorkgpt.memory.models import Memory

_AROUND = " \t\"'`*.!…“”‘’«»[]"


def meant(title: str, memories: Sequence[Memory]) -> Memory | None:
    """The memory of exactly this title; else the only one that differs in case, quotes, ending dots or white space."""
    for memory in memories:
        if memory.title == title:
            return memory
    wanted = _bare(title)
    near = [memory for memory in memories if wanted and _bare(memory.title) == wanted]
    return near[0] if len({memory.title for memory in near}) == 1 else None


def _bare(title: str) -> str:
    return " ".join(title.translate(_QUOTES).casefold().split()).strip(_AROUND)


_QUOTES = {ord(quote): None for quote in "\"'`“”‘’«»"}
