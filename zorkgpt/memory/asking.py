"""The roles that a model has in the memory, for a client of whatever kind; without one, nobody plays them."""

from typing import TYPE_CHECKING, Any

from zorkgpt.memory.learning.synthesis import MemorySynthesizer
from zorkgpt.memory.settings import MemorySettings

if TYPE_CHECKING:
    from zorkgpt.memory.dedup.judge import Judge


def asking(llm_client: Any, model: str, settings: MemorySettings) -> MemorySynthesizer | None:
    """Who decides what a turn teaches; None: nobody can be asked."""
    if llm_client is None:
        return None
    # Only here, so that a memory without a model loads nothing that asks one.
    from zorkgpt.llm.client import as_llm
    from zorkgpt.memory.learning.model_synthesizer import ModelSynthesizer

    return ModelSynthesizer(as_llm(llm_client, model=model), history_window=settings.history_window)


def judging(llm_client: Any, model: str) -> "Judge | None":
    """Who tells whether two memories say the same, where their words leave it open."""
    if llm_client is None:
        return None
    from zorkgpt.llm.client import as_llm
    from zorkgpt.memory.dedup.judge import ModelJudge

    return ModelJudge(as_llm(llm_client, model=model))
