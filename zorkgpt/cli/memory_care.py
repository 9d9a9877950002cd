"""`memories audit` and `memories classify`: what of the memory is still so, and how long it stays so."""

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from zorkgpt.cli.memory_file import File, Workdir, app, described, fail, number_of, opened, say

BACKUP_SUFFIX = ".unclassified.backup"

Game = Annotated[str | None, typer.Option("--game", help="The story that was played; [default: as `play` finds it].")]


@app.command()
def audit(
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
    seed: Annotated[int, typer.Option("--seed", min=1, help="Of the interpreter's random generator.")] = 1,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be marked as wrong.")] = False,
) -> None:
    """Hold the core memories against a fresh world; what it contradicts is marked as wrong."""
    with opened(workdir, file) as manager:
        from game_interface.core.jericho_interface import JerichoInterface
        from game_interface.story import find_story
        from session.fresh_world import things_of
        from zorkgpt.memory.upkeep.audit import tally

        with JerichoInterface(story=find_story(game), seed=seed) as fresh:
            findings = manager.audit(things_of(fresh), apply=not dry_run)
        for finding in findings:
            located = finding.located
            say(f"{finding.verdict.value}: {located.location_id} {located.location_name}: {described(located.memory)}")
            if finding.evidence:
                say(f"    {finding.evidence}")
        say(", ".join(f"{count} {verdict}" for verdict, count in tally(findings).items()) + ".")


@app.command()
def classify(
    workdir: Workdir = None,
    file: File = None,
    yes: Annotated[bool, typer.Option("--yes", help="Write the marks without asking.")] = False,
    rules: Annotated[bool, typer.Option("--rules", help="Propose by rules, also where a model is configured.")] = False,
) -> None:
    """Propose core or permanent for each memory that has no mark yet, and write the marks after a yes."""
    with opened(workdir, file) as manager:
        from zorkgpt.memory.upkeep.classification import proposals, with_marks

        path = manager.store.file.path
        proposed = list(proposals(manager.store.document, _classifier(rules)))
        if not proposed:
            say("Every memory has its mark.")
            return
        for proposal in proposed:
            located = proposal.located
            say(f"{proposal.persistence:<9} {located.location_id} {located.location_name}: {located.memory.title}")
            say(f"          {located.memory.text} ({proposal.why})")
        if not yes and not _agreed(len(proposed)):
            say("Nothing was changed.")
            return
        backup = Path(f"{path}{BACKUP_SUFFIX}")
        shutil.copyfile(path, backup)
        outcome = manager.store.apply(lambda document: with_marks(document, proposed))
        say(f"{number_of(len(outcome.changes), 'memory', 'memories')} marked. The file as it was: {backup}")


def _agreed(count: int) -> bool:
    if not sys.stdin.isatty():
        fail(f"{number_of(count, 'mark', 'marks')} proposed, and nobody to say yes: give --yes to write them.")
    return typer.confirm(f"Write {number_of(count, 'mark', 'marks')}?")


def _classifier(rules: bool):
    from zorkgpt.memory.upkeep.classification import ModelClassifier, RuleClassifier

    if rules:
        return RuleClassifier()
    from session.game_configuration import GameConfiguration
    from session.model_settings import model_settings
    from zorkgpt.llm.client import LLMClient

    models = model_settings(GameConfiguration.load())
    return ModelClassifier(LLMClient(models)) if models else RuleClassifier()
