"""A Z-machine story as a Gymnasium environment, with the score as the reward.

Importing this module registers it as `ZorkGPT/ZMachine-v0`.
"""

import string
from pathlib import Path
from typing import Any

from game_interface.core.jericho_interface import LARGEST_SEED, JerichoInterface
from game_interface.core.sanitize import MAX_LENGTH
from game_interface.models import Item, Location, Observation, Question, Transition
from game_interface.story import Story, find_story
from zorkgpt.errors import ConfigurationError
from zorkgpt.extras import importing
from zorkgpt.text import printable

with importing("gym"):
    import gymnasium
    from gymnasium import spaces

ENVIRONMENT_ID = "ZorkGPT/ZMachine-v0"
LONGEST_OBSERVATION = 16_384
"""Maximum characters. Longer texts are truncated, but stories print only a few hundred characters per turn."""
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"
_PRINTED = frozenset(filter(str.isprintable, bytes(range(256)).decode("cp1252", "ignore"))) | {"\n", _UNKNOWN}
"""The interpreter prints in Windows-1252."""
_TYPED = "".join(sorted({*string.ascii_letters, *string.digits, *string.punctuation, " "} - {"\\"}))


class ZMachineEnv(gymnasium.Env[str, str]):
    """A Gymnasium environment for one story.

    An action is a command, an observation is the printed text, and the reward is the change of the score. A command
    that can't be sent to the game (two commands, `save`, more than 80 characters) is also a step. Its observation says
    why.

    `info` has the state of the game as JSON values: `location`, `inventory` and `visible` with numbers and names,
    `score`, `max_score`, `moves`, `died`, `victory`, `question` (a question that the story has asked) and the `seed` of
    the interpreter. `refused` says why a command was not played, and `fault` how the interpreter failed. Unknown values
    are left out. `info` never contains hints about which commands work.

    Args:
        story: A story, or its file or name. Defaults to the first one found by `find_story`.
        seed: Seed for the first `reset` without one. Defaults to a random seed.
        max_steps: Number of steps after which an episode is truncated. None for no limit.
        render_mode: With "ansi", `render` returns the last printed text.

    Raises:
        StoryError: If the story can't be found or played.
        ConfigurationError: If `max_steps` or `render_mode` is invalid.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(
        self,
        story: Story | str | Path | None = None,
        *,
        seed: int | None = None,
        max_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if max_steps is not None and (not isinstance(max_steps, int) or max_steps < 1):
            raise ConfigurationError(f"max_steps is {max_steps!r}; it must be 1 or more, or None for no limit.")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ConfigurationError(f"render_mode is {render_mode!r}; it must be 'ansi' or None.")
        self.action_space = spaces.Text(MAX_LENGTH, charset=_TYPED)
        self.observation_space = spaces.Text(LONGEST_OBSERVATION, min_length=0, charset=_PRINTED)
        self.render_mode = render_mode
        self._game = JerichoInterface(story=story if isinstance(story, Story) else find_story(story))
        self._max_steps = max_steps
        self._first_seed = seed
        self._seed: int | None = None
        """Seed of this game. None before the first `reset`."""
        self._steps: int | None = None
        """Steps of this episode. None before the first `reset`."""
        self._printed = ""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start a new game.

        Args:
            seed: Determines this game and the games of later resets without a seed, which differ from each other.
            options: Not used.
        """
        super().reset(seed=self._first_seed if seed is None else seed)
        self._first_seed, self._steps = None, 0
        self._seed = int(self.np_random.integers(1, LARGEST_SEED, endpoint=True))
        opening = self._game.reset(seed=self._seed)
        return self._shown(opening), self._info(self._game.observe())

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Play a command. Return observation, reward, terminated, truncated and info.

        Raises:
            ResetNeeded: If `reset` was not called.
        """
        if self._steps is None:
            raise gymnasium.error.ResetNeeded("No episode has started. Call reset() before step().")
        self._steps += 1
        done = self._game.act(action)
        truncated = not done.finished and self._max_steps is not None and self._steps >= self._max_steps
        reward = float((done.after.score or 0) - (done.before.score or 0))
        return self._shown(done.response), reward, done.finished, truncated, self._info(done.after, done)

    def render(self) -> str | None:
        """Return the last printed text. None without a render mode."""
        return self._printed if self.render_mode else None

    def close(self) -> None:
        """Stop the interpreter. Can be called several times."""
        self._game.close()

    def _shown(self, text: str) -> str:
        """Store and return a text, reduced to the characters of the observation space."""
        plain = printable(text)[:LONGEST_OBSERVATION]
        self._printed = "".join(letter if letter in _PRINTED else _UNKNOWN for letter in plain)
        return self._printed

    def _info(self, now: Observation, done: Transition | None = None) -> dict[str, Any]:
        info: dict[str, Any] = {
            "location": now.location and _named(now.location),
            "inventory": _all_named(now.inventory),
            "visible": _all_named(now.visible),
            "score": now.score,
            "max_score": self._game.get_max_score(),
            "moves": now.moves,
            "died": done is not None and done.died,
            "victory": done is not None and done.victory,
            "question": now.question and _asked(now.question),
            "refused": done and done.refused,
            "fault": done and done.fault,
            "seed": self._seed,
        }
        return {name: value for name, value in info.items() if value is not None}


def _asked(question: Question) -> dict[str, Any]:
    return {"mode": str(question.mode), "text": question.text, "way_back": list(question.way_back)}


def _named(thing: Location | Item) -> dict[str, Any]:
    return {"num": thing.num, "name": thing.name}


def _all_named(things: tuple[Item, ...] | None) -> list[dict[str, Any]] | None:
    return None if things is None else [_named(thing) for thing in things]


gymnasium.register(ENVIRONMENT_ID, entry_point=f"{__name__}:{ZMachineEnv.__name__}")
