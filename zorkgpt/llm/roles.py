"""The roles that ask a model, one row per role."""

from enum import StrEnum
from typing import Self


class Role(StrEnum):
    """A role with the settings of its model and the templates of its prompts.

    To add a role, add a row here, a template in `zorkgpt/prompts/`, and a class that asks.
    """

    # name, settings, sampling, templates
    AGENT = "agent", ("agent",), "agent_sampling", ("agent",)
    CRITIC = "critic", ("critic",), "critic_sampling", ("critic",)
    MEMORY = (
        "memory",
        ("memory", "info_ext"),
        "memory_sampling",
        ("memory_synthesis", "memory_outcome", "memory_judge"),
    )
    OBJECTIVES = "objectives", ("analysis",), "analysis_sampling", ("objectives",)
    KNOWLEDGE = "knowledge", ("analysis",), "analysis_sampling", ("knowledge",)
    SUMMARY = "summary", ("analysis",), "analysis_sampling", ("context_summary",)

    _value_: str
    settings: tuple[str, ...]
    """Prefixes of `<prefix>_model` and `<prefix>_base_url` in `[tool.zorkgpt.llm]`. The first with a model is used."""
    sampling: str
    """The table in `[tool.zorkgpt]` with the sampling parameters."""
    templates: tuple[str, ...]
    """Names of the templates in `zorkgpt/prompts/`."""

    def __new__(cls, name: str, settings: tuple[str, ...], sampling: str, templates: tuple[str, ...]) -> Self:
        role = str.__new__(cls, name)
        role._value_ = name
        role.settings, role.sampling, role.templates = settings, sampling, templates
        return role
