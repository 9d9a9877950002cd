"""The tables of `[tool.zorkgpt.*]`, each a typed section, and `Tables` with all of them."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from zorkgpt.embeddings.provider import ProviderChoice
from zorkgpt.llm.settings import LLMSettings
from zorkgpt.memory.settings import MEMORY_FILE, settings_of
from zorkgpt.memory.storage.database import is_postgres
from zorkgpt.runlog.episodes import EPISODE_LOG
from zorkgpt.runlog.story_folder import MAP_FILE, STATE_FILE

# What the memory library and the model client do without any configuration: each default stands once.
_MEMORY = settings_of(None)
_DEDUPLICATION = _MEMORY.deduplication
_CLIENT = LLMSettings(roles={})


class SettingsSection(BaseModel):
    """A table; an unknown key or a value of the wrong type is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def _file_name(value: str) -> str:
    if not value or "/" in value or "\\" in value or value in (".", ".."):
        raise ValueError("must be a plain file name, it is kept in the working directory")
    return value


def _address(value: str | None) -> str | None:
    # An empty one, as a shell makes of a variable that is not set, counts as unset.
    if value and not value.lower().startswith(("http://", "https://")):
        raise ValueError("must be the address of a server, such as http://localhost:11434/v1")
    return value


def _postgres_address(value: str | None) -> str | None:
    if value and not is_postgres(value):
        raise ValueError("must be the address of a PostgreSQL, such as postgresql://user@host:5432/database")
    return value or None


class MemorySection(SettingsSection):
    """How memories look."""

    show_persistence_markers: bool = _MEMORY.budget.markers
    """Append [spawn] to core and [session] to ephemeral memories in the prompt."""
    debug_ephemeral: bool = _MEMORY.debug_ephemeral
    """Log every operation on ephemeral memories with its text, also that one was seen again."""


class SimpleMemorySection(SettingsSection):
    """The memory file and what of it is shown."""

    enabled: bool = True
    """Off: every episode is played as if it were the first."""
    memory_file: str = MEMORY_FILE
    """Name of the memory file in the working directory."""
    memory_address: str | None = Field(default=None, repr=False)
    """The address of a PostgreSQL that keeps the memories of many machines, in the place of the file."""
    max_successful_actions_shown: int = Field(default=_MEMORY.budget.successes, ge=0)
    """SUCCESS memories that the player is shown of a place, at most."""
    max_failed_actions_shown: int = Field(default=_MEMORY.budget.failures, ge=0)
    """FAILURE memories that the player is shown of a place, at most."""
    max_tokens_per_location: int = Field(default=_MEMORY.budget.tokens, ge=1)
    """Tokens of all memories of a place that the player is shown."""
    audit: bool = True
    """Hold core memories against the fresh world when an episode begins, and mark as wrong what it contradicts."""
    flush_on_death: bool = True
    """Accepted for older configurations; every write is immediate."""

    _plain = field_validator("memory_file")(_file_name)
    _postgres = field_validator("memory_address")(_postgres_address)


class MemoryTriggersSection(SettingsSection):
    """What makes a turn worth asking about."""

    ask_on_score_change: bool = True
    """The score is another than before."""
    ask_on_move: bool = True
    """The player is somewhere else."""
    ask_on_inventory_change: bool = True
    """The player holds something else."""
    ask_on_death: bool = True
    """The player died."""
    ask_on_first_visit: bool = True
    """The first look at a place in this episode, and the first action there."""
    ask_on_long_response: bool = True
    """The game said more than 100 characters."""
    ask_on_object_change: bool = True
    """The action moved, opened, lit or otherwise changed something."""
    ask_on_refusal: bool = True
    """The action was meant to change something, and nothing changed."""
    ask_only_once: bool = _MEMORY.ask_only_once
    """A turn of which the model would be told the very same as before is not asked about again."""


class SamplingSection(SettingsSection):
    """Sampling of one role; what is unset is left out of the request."""

    temperature: float | None = Field(default=None, ge=0, le=2)
    """0 to 2."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Above 0, to 1."""
    top_k: int | None = Field(default=None, ge=1)
    """1 or more."""
    min_p: float | None = Field(default=None, ge=0, le=1)
    """0 to 1."""
    max_tokens: int | None = Field(default=None, ge=1)
    """The longest answer, reasoning included."""


class MemorySamplingSection(SamplingSection):
    """Sampling of the memory model, and how much of the past it sees."""

    temperature: float | None = Field(default=0.3, ge=0, le=2)
    max_tokens: int | None = Field(default=1000, ge=1)
    memory_history_window: int = _MEMORY.history_window
    """Turns before this one that synthesis sees; sensible from 1 to 10."""


class PriceSection(SettingsSection):
    """What a million tokens of a model cost."""

    prompt: float = Field(ge=0)
    """Read."""
    completion: float = Field(ge=0)
    """Written, reasoning included."""


class LLMSection(SettingsSection):
    """Which model serves which role, where, and what it may take."""

    client_base_url: str | None = None
    """The server of every role that names none; else `OPENAI_BASE_URL`."""
    client_api_key: SecretStr | None = None
    """Its key; else `OPENAI_API_KEY`. Better kept in the environment than in a file."""
    agent_model: str | None = None
    """Chooses the actions; serves every role whose own model is unset."""
    critic_model: str | None = None
    """Judges proposed actions."""
    info_ext_model: str | None = None
    """Extracts what the Z-machine can't say from the game's text."""
    analysis_model: str | None = None
    """Objectives, knowledge, and the summary of an episode's older turns."""
    memory_model: str | None = None
    """Unset: `info_ext_model`."""
    agent_base_url: str | None = None
    """A server of the role's own; so are the next four."""
    critic_base_url: str | None = None
    info_ext_base_url: str | None = None
    analysis_base_url: str | None = None
    memory_base_url: str | None = None
    timeout_s: float = Field(default=_CLIENT.timeout_s, gt=0)
    """The longest silence of a server in one attempt."""
    deadline_s: float = Field(default=_CLIENT.deadline_s, gt=0)
    """The longest that one call may take, with its retries."""
    max_failures: int = Field(default=_CLIENT.max_failures, ge=1)
    """Failed calls in a row after which a model counts as unreachable, and the episode ends, saved."""
    max_tokens: int | None = Field(default=None, ge=1)
    """The ceiling of a whole run, prompts and answers of all roles; the episode ends there, saved."""
    max_cost: float | None = Field(default=None, gt=0)
    """The same in money, that of the prices; every model needs one."""
    prices: Mapping[str, PriceSection] = {}
    """By model name, `*` and `?` allowed: `"gpt-*" = { prompt = 2.5, completion = 10 }`, for a million tokens.
    OpenAI's own models have their list prices in US dollars where nothing here fits."""

    @field_validator("prices", mode="before")
    @classmethod
    def _parse_json(cls, given: Any) -> Any:
        if not isinstance(given, str):
            return given
        try:
            return json.loads(given)
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
    """How a turn is played."""

    critic_rejection_threshold: float = Field(default=-0.2, ge=-1, le=1)
    """A proposal that the critic scores below this is rejected."""
    enable_critic: bool = True
    """Judge proposals before they are played."""
    enable_extractor: bool = True
    """Have a model read in the game's text what the Z-machine can't say; off: rules read it."""
    max_rejections_per_turn: int = Field(default=3, ge=0)
    """After so many rejections in a turn, what is proposed next is played."""
    enable_exit_pruning: bool = True
    """Leave out exits that have failed often enough."""
    exit_failure_threshold: int = Field(default=2, ge=1)
    """Failures after which an exit counts as none."""
    turn_delay_seconds: float = Field(default=0.0, ge=0)
    """Pause after each turn, for watching."""
    zork_game_workdir: str = Field(default=str(_MEMORY.runs.parent), min_length=1)
    """The working directory: each story has a folder of its own in it. In Python: the folder of the story itself."""
    explore: Literal["none", "return"] = "none"
    """return: begin later episodes by repeating the commands that led an earlier one to something promising."""
    room_description_age_window: int = Field(default=10, ge=0)
    """Turns for which the last description of a room is shown again."""
    loop_window_turns: int = Field(default=20, ge=0)
    """Turns within which the player is told that the world is as it was before; 0: never."""
    stuck_after_turns: int = Field(default=40, ge=0)
    """Turns without a new place, object, score or memory after which the player is told; 0: never."""


class ContextSection(SettingsSection):
    """How long each part of the player's prompt may be; the critic's parts are half as long.

    Whole items that do not fit are left out, and the prompt says how many.
    """

    certain_tokens: int = Field(default=500, ge=200)
    """What the Z-machine tells: place, score, what is carried and in sight."""
    exits_tokens: int = Field(default=300, ge=60)
    """Exits from here, with where they lead and what is known of them."""
    untried_elsewhere_tokens: int = Field(default=120, ge=60)
    """Untried ways of other places, with the way there."""
    failed_here_tokens: int = Field(default=200, ge=60)
    """What was tried here in vain."""
    dangers_tokens: int = Field(default=160, ge=60)
    """Dangers remembered of places one way from here and on the route; those of this place count as its memories."""
    known_points_tokens: int = Field(default=250, ge=60)
    """What scored in earlier episodes and not yet in this one, with the way there."""
    objectives_tokens: int = Field(default=180, ge=60)
    """What is being pursued."""
    knowledge_tokens: int = Field(default=400, ge=60)
    """Lines of the knowledge base that apply."""
    notices_tokens: int = Field(default=200, ge=60)
    """What the player should know about its own play."""
    summary_tokens: int = Field(default=230, ge=60)
    """The summary of the episode's older turns."""
    history_tokens: int = Field(default=430, ge=100)
    """A line for each later turn; what is older is summarised by the model."""
    reasoning_tokens: int = Field(default=560, ge=200)
    """The last three turns with their reasons."""
    room_description_tokens: int = Field(default=400, ge=60)
    """The last description of the room."""
    response_tokens: int = Field(default=2000, ge=100)
    """What the game printed last."""
    refused_tokens: int = Field(default=200, ge=100)
    """Why the last proposal was not accepted."""
    summary_interval: int = Field(default=6, ge=1)
    """Turns between summaries, at least."""


class OrchestratorSection(SettingsSection):
    """How an episode is run."""

    max_turns_per_episode: int = Field(default=500, ge=1)
    """After so many turns an episode ends."""
    knowledge_update_interval: int = Field(default=100, ge=1)
    """Turns between updates of the knowledge base."""
    objective_update_interval: int = Field(default=15, ge=1)
    """Turns between looks for new objectives."""
    objective_stale_after_turns: int = Field(default=60, ge=1)
    """Turns in which nothing came of an objective, after which it is shown last; after twice as many it is dropped."""
    enable_objective_refinement: bool = True
    """Thin out the objectives now and then."""
    objective_refinement_interval: int = Field(default=50, ge=1)
    """Turns between refinements."""
    max_objectives_before_forced_refinement: int = Field(default=15, ge=1)
    """More objectives than this are refined at once."""
    refined_objectives_target_count: int = Field(default=8, ge=1)
    """How many a refinement leaves."""
    enable_state_export: bool = True
    """Keep `current_state.json` up to date."""
    checkpoint_interval_turns: int | None = Field(default=None, ge=1)
    """Turns between checkpoints; unset: 1 where a model is asked, else 10. A killed episode plays those since the last
    one again, with the same decisions of the player; other roles are asked about them again."""
    enable_inter_episode_synthesis: bool = True
    """Draw lessons across episodes when one ends."""


class FilesSection(SettingsSection):
    """Names of the files in the working directory."""

    map_state_file: str = MAP_FILE
    """The map of all episodes."""
    episode_log_file: str = EPISODE_LOG
    """The log of an episode, in its folder under `runs/`."""
    objectives_file: str = "objectives.json"
    """The objectives that are kept across episodes."""
    state_export_file: str = STATE_FILE
    """Where the running episode stands."""
    knowledge_file: str = "knowledgebase.md"
    """What is known of the game as a whole."""

    _plain = field_validator(
        "map_state_file", "episode_log_file", "objectives_file", "state_export_file", "knowledge_file"
    )(_file_name)


class DeduplicationSection(SettingsSection):
    """When two memories count as one."""

    enable: bool = _DEDUPLICATION.enable
    """Off: only word-for-word repeats are recognised."""
    similarity_threshold: float = Field(default=_DEDUPLICATION.similarity_threshold, ge=0, le=1)
    """Cosine from which a pair that passed the contrast check counts as a near-duplicate in the counts."""
    candidate_threshold: float = Field(default=_DEDUPLICATION.candidate_threshold, ge=0, le=1)
    """Cosine below which two memories are distinct without a closer look."""
    provider: ProviderChoice = "auto"
    """Where vectors come from; auto: the first that works."""
    sentence_transformer_model: str = _DEDUPLICATION.sentence_transformer_model
    """The embedding model."""
    llm_embedding_model: str = _DEDUPLICATION.llm_embedding_model
    """The embedding model of an OpenAI-compatible server."""
    cache_embeddings: bool = _DEDUPLICATION.cache_embeddings
    """Keep vectors beside the memories."""
    batch_size: int = Field(default=_DEDUPLICATION.batch_size, ge=1)
    """Texts embedded at a time."""
    consolidate_every_episodes: int = Field(default=5, ge=0)
    """0: never."""


class TelemetrySection(SettingsSection):
    """OpenTelemetry spans and metrics of model calls and of the memory; they need the extra `otel`."""

    enabled: bool = False
    """Record them, with the providers that OpenTelemetry is configured with."""
    content: bool = False
    """Put prompts, answers, search queries and memories into the spans too."""


class Tables(BaseModel):
    """All tables of `[tool.zorkgpt]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    memory: MemorySection = MemorySection()
    simple_memory: SimpleMemorySection = SimpleMemorySection()
    memory_triggers: MemoryTriggersSection = MemoryTriggersSection()
    memory_sampling: MemorySamplingSection = MemorySamplingSection()
    agent_sampling: SamplingSection = SamplingSection()
    critic_sampling: SamplingSection = SamplingSection()
    extractor_sampling: SamplingSection = SamplingSection()
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
