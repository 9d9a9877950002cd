"""Ablations: what is taken from the memory, to see what it is worth, and what is done for that between two episodes."""

import random
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from orchestration.players import PLAIN, PlayerChoice
from session.game_configuration import GameConfiguration
from session.history import TurnRecord
from zorkgpt.bounded import saved_json
from zorkgpt.encoding import as_json
from zorkgpt.files import write_file
from zorkgpt.memory.models import Memory, Persistence, SubjectKey, fields_of, memory_of
from zorkgpt.memory.places import parse_place, place_order, render_place
from zorkgpt.memory.storage.lasting import EVERY, Filters
from zorkgpt.memory.storage.markdown import MarkdownStore
from zorkgpt.memory.storage.versions import is_current, known_again, same_words
from zorkgpt.runlog.episodes import read_episode

_SOURCE = "evaluation"
"""Who changes the memory file here, for its history."""
_ORIGINS = "shuffled.json"
"""Beside the memory file: where each memory stands that was put to another place, and where it was learned."""


class Ablation(StrEnum):
    """What an evaluation takes from the memory."""

    ON = "on"
    """Nothing."""
    OFF = "off"
    """All that earlier episodes leave: memories, map, knowledge, objectives, and the plan made of their logs."""
    PLAIN = "plain"
    """Everything: the model sees the transcript of the episode alone. Only with a model."""
    SHUFFLED = "shuffled"
    """The right places: each memory of an earlier episode stands at another place than it was learned at."""
    FROZEN = "frozen"
    """What any episode but the first leaves."""
    NO_CLASSES = "no-classes"
    """The persistence classes: what is true of one episode only is kept like everything else."""
    NO_AUDIT = "no-audit"
    """The check of core memories against the fresh world."""

    @property
    def remembers(self) -> bool:
        return self not in (Ablation.OFF, Ablation.PLAIN)

    def player(self, choice: PlayerChoice) -> PlayerChoice:
        """Return the player of the runs of this ablation, given that of the evaluation."""
        return replace(choice, kind=PLAIN) if self is Ablation.PLAIN else choice

    def configured(self, config: GameConfiguration) -> GameConfiguration:
        """Return the configuration with what this ablation switches off."""
        if self is not Ablation.NO_AUDIT:
            return config
        section = config.simple_memory.model_copy(update={"audit": False})
        return config.model_copy(update={"simple_memory": section})

    def prepare(self, config: GameConfiguration, *, last: int, seed: int) -> None:
        """Do to the working directory what this ablation needs before the next episode.

        Args:
            last: the number of the episode that was played last.
            seed: of the run.
        """
        if self is Ablation.SHUFFLED:
            _shuffle(_memory_path(config), random.Random(f"{seed} {last}"))
        elif self is Ablation.NO_CLASSES:
            _make_all_permanent(config, last)


def _memory_path(config: GameConfiguration) -> Path:
    return Path(config.zork_game_workdir) / config.simple_memory.memory_file


def _make_all_permanent(config: GameConfiguration, last: int) -> None:
    """Keep what was ephemeral in the last episode, and call core what is permanent: nothing is known to be undone."""
    workdir = Path(config.zork_game_workdir)
    store = MarkdownStore(_memory_path(config))
    ephemeral = store.journal.ephemeral(last)
    events = read_episode(workdir, last, config.episode_log_file)
    names: dict[SubjectKey, str] = {
        turn.before.location.num: turn.before.location.name
        for turn in events
        if isinstance(turn, TurnRecord) and turn.before.location is not None
    }

    with store.transaction(source=_SOURCE) as draft:
        for place, memory in draft.lasting.find(replace(EVERY, persistence=Persistence.CORE)):
            draft.replace(place, memory, replace(memory, persistence=Persistence.PERMANENT), "edited")
        for place, forgotten in ephemeral.items():
            for memory in filter(is_current, forgotten):
                if known_again(draft.lasting.memories(place), memory) is None:
                    lasting = replace(memory, persistence=Persistence.PERMANENT)
                    draft.add(place, names.get(place, ""), lasting)


def _shuffle(path: Path, dice: random.Random) -> None:
    """Put every memory to another place than the one that it was learned at."""
    origins_path = path.with_name(_ORIGINS)
    store = MarkdownStore(path)
    known = _read_origins(origins_path)
    located = store.lasting.find(Filters())
    origins = [(place, memory, _origin(known, place, memory)) for place, memory in located]
    places = sorted({origin for _, _, origin in origins}, key=place_order)
    dice.shuffle(places)
    target = dict(zip(places, [*places[1:], *places[:1]], strict=True))
    # Written first: should this be cut short, a memory that still stands where it was is not in it, and starts anew.
    rows = [[render_place(target[origin]), fields_of(memory), render_place(origin)] for _, memory, origin in origins]
    write_file(origins_path, as_json(rows))

    with store.transaction(source=_SOURCE) as draft:
        for place, memory, origin in origins:
            if place != target[origin]:
                draft.remove(place, next(stored for stored in draft.lasting.memories(place) if stored == memory))
                draft.add(target[origin], "", memory)


def _read_origins(path: Path) -> list[tuple[SubjectKey, Memory, SubjectKey]]:
    rows: list[tuple[str, Mapping[str, Any], str]] = saved_json(path) if path.is_file() else []
    return [(parse_place(at), memory_of(dict(memory)), parse_place(origin)) for at, memory, origin in rows]


def _origin(known: list[tuple[SubjectKey, Memory, SubjectKey]], place: SubjectKey, memory: Memory) -> SubjectKey:
    """Return where a memory was learned: where it stands, unless it was put there."""
    return next((origin for at, one, origin in known if at == place and same_words(one, memory)), place)
