"""What a run is put together from."""

from dataclasses import dataclass

from game_interface.game import Game
from managers.base import Manager
from managers.checkpoint_manager import CheckpointManager
from managers.context_manager import ContextManager
from managers.extraction_manager import ExtractionManager
from managers.map_manager import MapManager
from managers.model_calls import ModelCalls
from managers.objective_manager import ObjectiveManager
from managers.progress_manager import ProgressManager
from managers.rejection_manager import RejectionManager
from managers.state_manager import StateManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import History
from zorkgpt.critic import Critic
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.player import Player


@dataclass(frozen=True)
class Parts:
    """The game, the player and everything between them; `assembly` makes the real ones."""

    config: GameConfiguration
    game: Game
    player: Player
    player_name: str
    """ "model", "offline", "walkthrough" or "human"."""
    seed: int
    """Of the interpreter's random generator."""
    state: GameState
    history: History
    map: MapManager
    extraction: ExtractionManager
    progress: ProgressManager
    context: ContextManager
    export: StateManager
    memory: SimpleMemoryManager | None
    """None: nothing is remembered."""
    checkpoints: CheckpointManager
    critic: Critic | None = None
    """None: what is proposed is played."""
    rejections: RejectionManager | None = None
    """There if the critic is."""
    objectives: ObjectiveManager | None = None
    models: ModelCalls | None = None
    """None: no model is asked through the configuration."""
    managers: tuple[Manager, ...] = ()
    """All that have the lifecycle, in the order in which they take over a turn; the checkpoints' last."""
