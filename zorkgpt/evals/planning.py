"""Which runs an evaluation consists of."""

from collections.abc import Iterator
from pathlib import Path

from game_interface.story import Story
from orchestration.players import PlayerChoice
from session.game_configuration import GameConfiguration
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.generations import GenerationRun
from zorkgpt.evals.protocols import EvaluationProtocol, GenerationProtocol
from zorkgpt.evals.runs import EvaluationRun


def plan(
    protocol: EvaluationProtocol,
    stories: list[Story],
    seeds: list[int],
    ablations: list[Ablation],
    choice: PlayerChoice,
    config: GameConfiguration,
    root: Path,
    walkthrough: Path | None = None,
) -> Iterator[EvaluationRun]:
    """Yield the runs of an evaluation: of each story, all ablations of a seed before the next seed."""
    kind = GenerationRun if isinstance(protocol, GenerationProtocol) else EvaluationRun
    for story in stories:
        for seed in seeds:
            for ablation in ablations:
                yield kind(protocol, story.path, seed, ablation, choice, config, root, walkthrough)
