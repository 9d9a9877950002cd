"""The protocols: episodes, turns, seeds and headline metric. The name of a protocol always means the same."""

import re
from dataclasses import dataclass
from typing import Literal

from zorkgpt.errors import ConfigurationError
from zorkgpt.text import number_of

Headline = Literal["area", "best"]
_LEARNING = re.compile(r"learning-([1-9]\d{0,3})(?:x([1-9]\d{0,5}))?")
_LEARNING_TURNS = 300


@dataclass(frozen=True, slots=True)
class EvaluationProtocol:
    """The definition of the runs of an evaluation."""

    name: str
    what: str
    """A description in one sentence."""
    episodes: int
    turns: int
    """Maximum turns of an episode, or of the run if it `restarts`."""
    seeds: tuple[int, ...]
    """The default seeds."""
    headline: Headline
    """`area`: the mean of the final scores. `best`: the highest score at any turn. Both as shares of the maximum."""
    reseeds: bool = False
    """Whether the seed increases by 1 with every episode."""
    restarts: bool = False
    """Whether a story that ends is restarted with the remaining turns, until the maximum score is reached."""

    @property
    def max_turns(self) -> int:
        """Maximum turns of a run."""
        return self.turns if self.restarts else self.turns * self.episodes

    def seed_of(self, seed: int, episode: int) -> int:
        """Return the seed of an episode, counted from 1, in the run of a seed."""
        return seed + episode - 1 if self.reseeds else seed


FIXED = (
    EvaluationProtocol(
        "tales-100",
        "100 steps of a story, which restarts when it ends; the highest score counts (TALES, arXiv 2504.14128)",
        episodes=1,
        turns=100,
        seeds=(1, 2, 3, 4, 5),
        headline="best",
        restarts=True,
    ),
    EvaluationProtocol(
        "textquests-500",
        "one episode of 500 steps, without clues; the highest score counts (TextQuests, arXiv 2507.23701)",
        episodes=1,
        turns=500,
        seeds=(1,),
        headline="best",
    ),
    EvaluationProtocol(
        "jericho-1000",
        "one episode of 1,000 steps with each of three seeds; the final score counts",
        episodes=1,
        turns=1000,
        seeds=(1, 2, 3),
        headline="area",
    ),
    EvaluationProtocol(
        "jttl-50",
        "50 episodes of 110 steps of one story, each with its own seed; the area under the curve of final scores "
        "counts (J-TTL of EvoTest, arXiv 2510.13220)",
        episodes=50,
        turns=110,
        seeds=(1, 2, 3),
        headline="area",
        reseeds=True,
    ),
)
"""The protocols without parameters."""


def protocol_named(name: str) -> EvaluationProtocol:
    """Return the protocol with this name.

    The name is in `FIXED`, or it is `learning-K` (K episodes of 300 turns) or `learning-KxT` (K episodes of T turns).

    Raises:
        ConfigurationError: If there is no such protocol.
    """
    for protocol in FIXED:
        if protocol.name == name:
            return protocol
    if match := _LEARNING.fullmatch(name):
        episodes, turns = int(match[1]), int(match[2] or _LEARNING_TURNS)
        what = f"{number_of(episodes, 'episode', 'episodes')} of {turns} turns of one story with the same seed"
        return EvaluationProtocol(name, what, episodes, turns, seeds=(1, 2, 3, 4, 5), headline="area")
    fixed = ", ".join(protocol.name for protocol in FIXED)
    raise ConfigurationError(
        f"Unknown protocol {name!r}. Choose from: {fixed}, learning-K and learning-KxT (K episodes of T turns, "
        "such as learning-5x300)."
    )
