"""The protocols: how much of a story is played, with which seeds, and which figure counts. Their names never change."""

import re
from dataclasses import dataclass
from typing import Literal

from zorkgpt.errors import ConfigurationError
from zorkgpt.text import number_of

Headline = Literal["area", "best"]
_LEARNING = re.compile(r"learning-([1-9]\d{0,3})(?:x([1-9]\d{0,5}))?")
_GENERATIONS = re.compile(r"generations-([1-9]\d{0,3})x([1-9]\d{0,5})(?:x([1-9]\d{0,5}))?")
_LEARNING_TURNS = 300


@dataclass(frozen=True, slots=True)
class EvaluationProtocol:
    """What one run of an evaluation plays, and by which of its figures it is judged."""

    name: str
    what: str
    """One sentence for people."""
    episodes: int
    turns: int
    """Of an episode; of the whole run where it `restarts`."""
    seeds: tuple[int, ...]
    """Those that are played if none are asked for."""
    headline: Headline
    """`area`: the mean of the final scores. `best`: the highest score at any turn. Both as shares of the maximum."""
    reseeds: bool = False
    """Whether every episode has a seed of its own: that of the run, and one more each time."""
    restarts: bool = False
    """Whether a story that ends begins again, with the turns that are left, until the full score is reached."""

    @property
    def most_turns(self) -> int:
        """The turns of a run, at most."""
        return self.turns if self.restarts else self.turns * self.episodes

    def seed_of(self, seed: int, episode: int) -> int:
        """Return the seed of an episode, counted from 1, in the run of a seed."""
        return seed + episode - 1 if self.reseeds else seed


@dataclass(frozen=True, slots=True)
class GenerationProtocol(EvaluationProtocol):
    """One whose episodes are played in generations, each from what all episodes of those before have learned."""

    size: int = 1
    """The episodes of a generation."""

    @property
    def generations(self) -> int:
        return self.episodes // self.size

    def episodes_of(self, generation: int) -> range:
        """Return the episodes of a generation; both are counted from 1."""
        return range((generation - 1) * self.size + 1, generation * self.size + 1)


FIXED = (
    EvaluationProtocol(
        "tales-100",
        "100 steps of a story, which begins again when it ends; the highest score counts (TALES, arXiv 2504.14128)",
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
        "50 episodes of 110 steps of one story, each with a seed of its own; the area under the curve of final scores "
        "counts (J-TTL of EvoTest, arXiv 2510.13220)",
        episodes=50,
        turns=110,
        seeds=(1, 2, 3),
        headline="area",
        reseeds=True,
    ),
)
"""The protocols without a number of their own to choose."""


def protocol_named(name: str) -> EvaluationProtocol:
    """Return a protocol: one of `FIXED`, `learning-K` (K episodes of 300 turns), `learning-KxT` (of T turns),
    `generations-GxE` (G generations of E such episodes), or `generations-GxExT`.

    Raises:
        ConfigurationError: If there is none of that name.
    """
    for protocol in FIXED:
        if protocol.name == name:
            return protocol
    if found := _LEARNING.fullmatch(name):
        episodes, turns = int(found[1]), int(found[2] or _LEARNING_TURNS)
        what = f"{number_of(episodes, 'episode', 'episodes')} of {turns} turns of one story with the same seed"
        return EvaluationProtocol(name, what, episodes, turns, seeds=(1, 2, 3, 4, 5), headline="area")
    if found := _GENERATIONS.fullmatch(name):
        generations, size, turns = int(found[1]), int(found[2]), int(found[3] or _LEARNING_TURNS)
        what = (
            f"{generations} generations of {size} episodes of {turns} turns, each episode with a seed of its own; all "
            "of a generation begin with what those before it have learned"
        )
        return GenerationProtocol(
            name, what, generations * size, turns, seeds=(1,), headline="area", reseeds=True, size=size
        )
    known = ", ".join(protocol.name for protocol in FIXED)
    raise ConfigurationError(
        f"There is no protocol {name!r}. There are: {known}, learning-K and learning-KxT (K episodes of T turns, "
        "such as learning-5x300), generations-GxE and generations-GxExT (G generations of E episodes of T turns)."
    )
