"""The tables of `[tool.zorkgpt.*]`, each a typed section, and `Tables` with all of them."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from zorkgpt.bounded import SETTING, parse_json
from zorkgpt.embeddings.provider import ProviderChoice
from zorkgpt.llm.settings import LLMSettings, Price
from zorkgpt.memory.settings import MEMORY_FILE, MemorySettings
from zorkgpt.memory.storage.postgres import is_postgres
from zorkgpt.run_folder import EPISODE_LOG, MAP_FILE, STATE_FILE

# Defaults come from the memory library and the model client.
_MEMORY = MemorySettings()
_CLIENT = LLMSettings(roles={})
_DAY_S = 86400
"""The longest wait: far longer ones overflow the clocks of the system."""


class SettingsSection(BaseModel):
    """A table. An unknown key or a value of the wrong type is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def _file_name(value: str) -> str:
    if not value.isprintable() or "/" in value or "\\" in value or value in ("", ".", ".."):
        raise ValueError("must be a plain file name, it is kept in the working directory")
    return value


def _address(value: str | None) -> str | None:
    # A shell may set an empty variable; treat it as unset.
    if value and not value.lower().startswith(("http://", "https://")):
        raise ValueError("must be the address of a server, such as http://localhost:11434/v1")
    return value


def _postgres_address(value: str | None) -> str | None:
    if value and not is_postgres(value):
        raise ValueError("must be the address of a PostgreSQL, such as postgresql://user@host:5432/database")
    return value or None


class MemorySection(SettingsSection):
    """Display and logging of memories."""

    show_persistence_markers: bool = _MEMORY.show_persistence_markers
    """Mark core memories with [spawn] and ephemeral ones with [session] in the prompt."""
    debug_ephemeral: bool = _MEMORY.debug_ephemeral
    """Log every operation on ephemeral memories."""


class SimpleMemorySection(SettingsSection):
    """The memory file, and how much of it is shown."""

    enabled: bool = True
    """If false, the player has no memory of earlier episodes."""
    memory_file: str = MEMORY_FILE
    """Name of the memory file in the working directory."""
    memory_address: str | None = Field(default=None, repr=False)
    """Address of a PostgreSQL database that is used instead of the file."""
    max_successful_actions_shown: int = Field(default=_MEMORY.max_successful_actions_shown, ge=0)
    """Maximum SUCCESS memories shown per location."""
    max_failed_actions_shown: int = Field(default=_MEMORY.max_failed_actions_shown, ge=0)
    """Maximum FAILURE memories shown per location."""
    max_tokens_per_location: int = Field(default=_MEMORY.max_tokens_per_location, ge=1)
    """Maximum tokens of all memories shown per location."""
    audit: bool = True
    """Check core memories against the new world when an episode begins, and mark contradicted ones as wrong."""
    flush_on_death: bool = True
    """Accepted for older configurations. Every write is immediate."""

    _plain = field_validator("memory_file")(_file_name)
    _postgres = field_validator("memory_address")(_postgres_address)


class SamplingSection(SettingsSection):
    """Sampling of one role. Unset values are not sent."""

    temperature: float | None = Field(default=None, ge=0, le=2)
    """0 to 2."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Above 0, to 1."""
    top_k: int | None = Field(default=None, ge=1)
    """1 or more."""
    min_p: float | None = Field(default=None, ge=0, le=1)
    """0 to 1."""
    max_tokens: int | None = Field(default=1000, ge=1)
    """Maximum length of an answer, including reasoning. If reasoning needs more, it is four times as long."""


class MemorySamplingSection(SamplingSection):
    """Sampling of the memory model, and how many turns it sees."""

    temperature: float | None = Field(default=0.3, ge=0, le=2)
    memory_history_window: int = _MEMORY.history_window
    """Previous turns in the question. 1 to 10 is reasonable."""


class LLMSection(SettingsSection):
    """Models and servers of each role, and limits."""

    client_base_url: str | None = None
    """Default server of all roles. Defaults to `OPENAI_BASE_URL`."""
    client_api_key: SecretStr | None = None
    """API key. Defaults to `OPENAI_API_KEY`. Keep it in the environment, not in a file."""
    agent_model: str | None = None
    """Chooses the actions. The default of all other roles."""
    critic_model: str | None = None
    """Reviews proposed actions."""
    info_ext_model: str | None = None
    """The default of `memory_model`."""
    analysis_model: str | None = None
    """Objectives, knowledge, and summaries of older turns."""
    memory_model: str | None = None
    """Writes memories and reads exits in the game's text. Defaults to `info_ext_model`."""
    agent_base_url: str | None = None
    """Server of the agent, if it is not `client_base_url`."""
    critic_base_url: str | None = None
    """Server of the critic."""
    info_ext_base_url: str | None = None
    """Server of `info_ext_model`."""
    analysis_base_url: str | None = None
    """Server of `analysis_model`."""
    memory_base_url: str | None = None
    """Server of `memory_model`."""
    timeout_s: float = Field(default=_CLIENT.timeout_s, gt=0, le=_DAY_S)
    """Seconds without data from the server before an attempt fails."""
    deadline_s: float = Field(default=_CLIENT.deadline_s, gt=0, le=_DAY_S)
    """Maximum seconds per call, including retries."""
    max_failures: int = Field(default=_CLIENT.max_failures, ge=1)
    """Consecutive failed calls after which the episode ends."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Token budget of a run, for all roles. The episode ends when it is used up."""
    max_cost: float | None = Field(default=None, gt=0)
    """Cost limit of a run. Every model needs a price."""
    prices: Mapping[str, Price] = {}
    """Prices per million tokens, by model name or pattern, such as `"gpt-*" = { prompt = 2.5, completion = 10 }`."""

    @field_validator("prices", mode="before")
    @classmethod
    def _parse_json(cls, given: Any) -> Any:
        if not isinstance(given, str):
            return given
        try:
            return parse_json(given, SETTING)
        except ValueError:
            raise ValueError('must be a table, or JSON: {"model": {"prompt": 1, "completion": 2}}') from None

    _addresses = field_validator(
        "client_base_url",
        "agent_base_url",
        "critic_base_url",
        "info_ext_base_url",
        "analysis_base_url",
        "memory_base_url",
    )(_address)


class GameplaySection(SettingsSection):
    """How turns are played."""

    critic_rejection_threshold: float = Field(default=-0.2, ge=-1, le=1)
    """Proposals with a lower critic score are rejected."""
    enable_critic: bool = True
    """Review proposals before they are played."""
    enable_agent_tools: bool = True
    """Let the model that plays call tools: recall memories, note facts."""
    enable_exit_pruning: bool = True
    """Hide exits that failed repeatedly."""
    exit_failure_threshold: int = Field(default=2, ge=1)
    """Failures after which an exit is hidden."""
    turn_delay_seconds: float = Field(default=0.0, ge=0, le=_DAY_S)
    """Pause after each turn."""
    zork_game_workdir: str = Field(default=_MEMORY.zork_game_workdir, min_length=1)
    """Working directory with a folder per story. In Python: the folder of the story."""
    room_description_age_window: int = Field(default=10, ge=0)
    """Turns during which the last room description is shown again."""


class ContextSection(SettingsSection):
    """The part of the player's prompt with the episode so far."""

    history_tokens: int = Field(default=16_000, ge=100)
    """The episode so far. Less if the model's context is smaller. Older turns are summarized."""
    summary_interval: int = Field(default=6, ge=1)
    """Minimum turns between summaries."""


class OrchestratorSection(SettingsSection):
    """How episodes are run."""

    max_turns_per_episode: int = Field(default=500, ge=1)
    """Maximum turns per episode. Without this setting, `--player rules` plays 250."""
    knowledge_update_interval: int = Field(default=100, ge=1)
    """Turns between updates of the knowledge base."""
    objective_update_interval: int = Field(default=15, ge=1)
    """Turns without progress after which the objectives are reviewed."""
    enable_objective_refinement: bool = True
    """Drop less useful objectives periodically."""
    objective_refinement_interval: int = Field(default=50, ge=1)
    """Turns between refinements."""
    max_objectives_before_forced_refinement: int = Field(default=15, ge=1)
    """Number of objectives that triggers a refinement."""
    refined_objectives_target_count: int = Field(default=8, ge=1)
    """Number of objectives after a refinement."""
    enable_state_export: bool = True
    """Keep `current_state.json` up to date."""
    keep_episodes: int = Field(default=20, ge=1)
    """Newest episodes that can be resumed. The logs of older ones are compressed."""
    enable_inter_episode_synthesis: bool = True
    """Update the knowledge base from the whole episode when it ends."""
    ask_in_background: bool = True
    """Ask models about memories, objectives, knowledge and summaries while the next turns are played."""
    background_wait_seconds: float = Field(default=60.0, ge=0, le=_DAY_S)
    """Maximum wait for open background questions at the end of an episode."""


class FilesSection(SettingsSection):
    """File names in the working directory."""

    map_state_file: str = MAP_FILE
    """Map."""
    episode_log_file: str = EPISODE_LOG
    """Log of an episode, in its folder under `runs/`."""
    state_export_file: str = STATE_FILE
    """State of the running episode."""

    _plain = field_validator("map_state_file", "episode_log_file", "state_export_file")(_file_name)


class DeduplicationSection(SettingsSection):
    """When two memories count as the same."""

    enable: bool = _MEMORY.enable_semantic_deduplication
    """If false, only identical texts count as the same."""
    similarity_threshold: float = Field(default=_MEMORY.deduplication_similarity_threshold, ge=0, le=1)
    """Minimum cosine of a merged pair that counts as a near-duplicate."""
    candidate_threshold: float = Field(default=_MEMORY.candidate_threshold, ge=0, le=1)
    """Minimum cosine of two memories that are compared further."""
    provider: ProviderChoice = "auto"
    """`auto` (the first that works), `onnx`, `sentence-transformers`, `llm` or `none`."""
    sentence_transformer_model: str = _MEMORY.sentence_transformer_model
    """Model of sentence-transformers."""
    llm_embedding_model: str = _MEMORY.llm_embedding_model
    """Embedding model of an OpenAI-compatible server."""
    cache_embeddings: bool = _MEMORY.cache_embeddings
    """Cache vectors next to the memories."""
    batch_size: int = Field(default=_MEMORY.embedding_batch_size, ge=1)
    """Texts per embedding request."""
    consolidate_every_episodes: int = Field(default=5, ge=0)
    """Episodes between consolidations of the whole file. 0 for never."""


class TelemetrySection(SettingsSection):
    """OpenTelemetry spans and metrics. Needs the extra `otel`."""

    enabled: bool = False
    """Record spans and metrics with the configured OpenTelemetry providers."""
    content: bool = False
    """Include prompts, answers, search queries and memories in the spans."""


class Tables(BaseModel):
    """All tables of `[tool.zorkgpt]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    memory: MemorySection = MemorySection()
    simple_memory: SimpleMemorySection = SimpleMemorySection()
    memory_sampling: MemorySamplingSection = MemorySamplingSection()
    agent_sampling: SamplingSection = SamplingSection()
    critic_sampling: SamplingSection = SamplingSection()
    analysis_sampling: SamplingSection = SamplingSection()
    llm: LLMSection = LLMSection()
    gameplay: GameplaySection = GameplaySection()
    context: ContextSection = ContextSection()
    orchestrator: OrchestratorSection = OrchestratorSection()
    files: FilesSection = FilesSection()
    memory_deduplication: DeduplicationSection = DeduplicationSection()
    telemetry: TelemetrySection = TelemetrySection()


SECTIONS: Mapping[str, type[SettingsSection]] = {
    table: section
    for table, field in Tables.model_fields.items()
    if isinstance(section := field.annotation, type) and issubclass(section, SettingsSection)
}
"""The section of each table."""
