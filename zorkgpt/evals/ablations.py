"""Ablations: runs without a part of the memory, to measure the effect of that part."""

import random
from contextlib import closing
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from orchestration.player_choice import PlayerChoice
from session.game_configuration import GameConfiguration
from session.history import TurnRecord
from zorkgpt.memory.models import Memory, Persistence, SubjectKey
from zorkgpt.memory.parts import open_store
from zorkgpt.memory.places import parse_place, place_order, render_place
from zorkgpt.memory.storage.lasting import EVERY, Filters
from zorkgpt.memory.storage.versions import is_current, with_same_words
from zorkgpt.runlog.episodes import read_episode
from zorkgpt.runlog.events import PlayerKind

_SOURCE = "evaluation"
"""The source of these changes in the journal."""
_ORIGIN = "origin"
"""In the metadata of a shuffled memory: the place where it was learned."""


class Ablation(StrEnum):
    """A part of the memory that an evaluation disables."""

    ON = "on"
    """Disables nothing."""
    OFF = "off"
    """Disables everything from earlier episodes: memories, map, knowledge, objectives, and the plan from their logs."""
    PLAIN = "plain"
    """Disables everything: the model sees only the transcript of the episode. Requires a model."""
    SHUFFLED = "shuffled"
    """Moves each memory of an earlier episode to another place."""
    FROZEN = "frozen"
    """Keeps only what the first episode learned."""
    NO_CLASSES = "no-classes"
    """Disables persistence classes: ephemeral memories are kept too, and core memories become permanent."""
    NO_AUDIT = "no-audit"
    """Disables the check of core memories at the start of an episode."""

    @property
    def remembers(self) -> bool:
        return self not in (Ablation.OFF, Ablation.PLAIN)

    def player(self, choice: PlayerChoice) -> PlayerChoice:
        """Return the player for this ablation. `choice` is the player of the evaluation."""
        return replace(choice, kind=PlayerKind.PLAIN) if self is Ablation.PLAIN else choice

    def configured(self, config: GameConfiguration) -> GameConfiguration:
        """Return the configuration with the settings of this ablation."""
        if self is not Ablation.NO_AUDIT:
            return config
        section = config.simple_memory.model_copy(update={"audit": False})
        return config.model_copy(update={"simple_memory": section})

    def prepare(self, config: GameConfiguration, *, last: int, seed: int) -> None:
        """Change the memories in the working directory as this ablation requires, before the next episode.

        Args:
            last: The number of the last played episode.
            seed: The seed of the run.
        """
        if self is Ablation.SHUFFLED:
            _shuffle(_memory_path(config), random.Random(f"{seed} {last}"))
        elif self is Ablation.NO_CLASSES:
            _make_all_permanent(config, last)


def _memory_path(config: GameConfiguration) -> Path:
    return Path(config.zork_game_workdir) / config.simple_memory.memory_file


def _make_all_permanent(config: GameConfiguration, last: int) -> None:
    """Make core memories, and ephemeral memories of the last episode, permanent."""
    events = read_episode(Path(config.zork_game_workdir), last, config.episode_log_file)
    names: dict[SubjectKey, str] = {
        turn.before.location.num: turn.before.location.name
        for turn in events
        if isinstance(turn, TurnRecord) and turn.before.location is not None
    }
    with closing(open_store(_memory_path(config))) as store, store.transaction(source=_SOURCE) as draft:
        for place, memory in draft.lasting.find(replace(EVERY, persistence=Persistence.CORE)):
            draft.replace(place, memory, replace(memory, persistence=Persistence.PERMANENT), "edited")
        for place, forgotten in store.journal.ephemeral(last).items():
            for memory in filter(is_current, forgotten):
                if with_same_words(draft.lasting.memories(place), memory) is None:
                    lasting = replace(memory, persistence=Persistence.PERMANENT)
                    draft.add(place, names.get(place, ""), lasting)


def _shuffle(path: Path, dice: random.Random) -> None:
    """Move every memory to another place than the one where it was learned."""
    with closing(open_store(path)) as store, store.transaction(source=_SOURCE) as draft:
        located = [(place, memory, _origin(place, memory)) for place, memory in draft.lasting.find(Filters())]
        places = sorted({origin for _, _, origin in located}, key=place_order)
        dice.shuffle(places)
        target = dict(zip(places, [*places[1:], *places[:1]], strict=True))
        for place, memory, origin in located:
            if place != target[origin]:
                draft.remove(place, next(stored for stored in draft.lasting.memories(place) if stored == memory))
                metadata = {**memory.metadata, _ORIGIN: render_place(origin)}
                draft.add(target[origin], "", replace(memory, metadata=metadata))


def _origin(place: SubjectKey, memory: Memory) -> SubjectKey:
    """Return the place where a memory was learned. This is its present place unless it was moved."""
    origin = memory.metadata.get(_ORIGIN)
    return parse_place(origin) if isinstance(origin, str) else place
