"""What the memory takes from a configuration, whatever object that is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zorkgpt.memory.learning.recent import checked_window
from zorkgpt.memory.learning.triggers import Trigger
from zorkgpt.memory.recall.retrieval import Budget

DEFAULT_MODEL = "gpt-4o-mini"
"""Asked for where a model client is handed in and nobody names a model."""

_SWITCHES = {
    "ask_on_score_change": Trigger.SCORE,
    "ask_on_move": Trigger.LOCATION,
    "ask_on_inventory_change": Trigger.INVENTORY,
    "ask_on_death": Trigger.DEATH,
    "ask_on_first_visit": Trigger.FIRST_VISIT,
    "ask_on_long_response": Trigger.LONG_RESPONSE,
    "ask_on_object_change": Trigger.OBJECTS,
    "ask_on_refusal": Trigger.NOTHING_CHANGED,
}


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """Attributes of these names, or of the flat names of `[tool.zorkgpt]`, where the object has them."""

    path: Path
    budget: Budget
    debug_ephemeral: bool
    history_window: int
    model: str
    triggers: frozenset[Trigger]
    ask_only_once: bool
    """Whether what was judged before is passed over."""


def settings_of(config: Any) -> MemorySettings:
    """An attribute that is missing, or of another kind than its default, takes the default."""
    window = getattr(config, "get_memory_history_window", None)
    models = (setting(config, key, "") for key in ("memory_model", "info_ext_model", "agent_model"))
    return MemorySettings(
        path=Path(setting(config, "zork_game_workdir", "game_files")) / setting(config, "memory_file", "Memories.md"),
        budget=Budget(
            tokens=setting(config, "max_tokens_per_location", 300),
            successes=setting(config, "max_successful_actions_shown", 5),
            failures=setting(config, "max_failed_actions_shown", 5),
            markers=setting(config, "show_persistence_markers", True),
        ),
        debug_ephemeral=setting(config, "debug_ephemeral", False),
        history_window=checked_window(window() if callable(window) else None),
        model=next(filter(None, models), DEFAULT_MODEL),
        triggers=frozenset(trigger for key, trigger in _SWITCHES.items() if setting(config, key, True)),
        ask_only_once=setting(config, "ask_only_once", True),
    )


def setting(config: Any, name: str, default: Any) -> Any:
    """The attribute, where it is of the kind of its default."""
    value = getattr(config, name, default)
    if isinstance(default, str):
        return str(value) if isinstance(value, (str, Path)) else default
    return value if isinstance(value, type(default)) else default
