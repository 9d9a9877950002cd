"""`memories audit` and `memories classify`: what of the memory is still so, and how long it stays so."""

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zorkgpt.cli.memory_file import File, Game, Workdir, app, described, fail, memory_path, number_of, opened, say
from zorkgpt.cli.places import configured_places
from zorkgpt.runlog.story_folder import StoryMark, stories_of

if TYPE_CHECKING:
    from game_interface.story import Story

BACKUP_SUFFIX = ".unclassified.backup"


@app.command()
def audit(
    workdir: Workdir = None,
    file: File = None,
    game: Game = None,
    seed: Annotated[int, typer.Option("--seed", min=1, help="Of the interpreter's random generator.")] = 1,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be marked as wrong.")] = False,
) -> None:
    """Hold the core memories against a fresh world; what it contradicts is marked as wrong."""
    path = memory_path(workdir, file, game)
    with opened(None, path) as manager:
        from game_interface.core.jericho_interface import JerichoInterface
        from session.ground_truth import audited_things
        from zorkgpt.memory.upkeep.audit import tally

        with JerichoInterface(story=_story_of(path.parent, game), seed=seed) as fresh:
            findings = manager.audit(audited_things(fresh), apply=not dry_run)
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
    game: Game = None,
    yes: Annotated[bool, typer.Option("--yes", help="Write the marks without asking.")] = False,
    rules: Annotated[bool, typer.Option("--rules", help="Propose by rules, also where a model is configured.")] = False,
) -> None:
    """Propose core or permanent for each memory that has no mark yet, and write the marks after a yes."""
    with opened(workdir, file, game) as manager:
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


def _story_of(folder: Path, game: str | None) -> "Story":
    """The story whose world the memories of a folder are of."""
    from game_interface.story import find_story, list_stories

    theirs = stories_of(folder, configured_places().log)
    named = " and of ".join(map(str, theirs.values()))
    if game is None and theirs:
        there = [each.story for each in list_stories() if each.story and each.story.sha256 in theirs]
        if len(there) != 1 or len(theirs) != 1:
            fail(f"{folder} keeps the memories of {named}: name the story file with --game.")
        return there[0]
    story = find_story(game)
    if theirs and story.sha256 not in theirs:
        fail(f"{folder} keeps the memories of {named}, not of {StoryMark.of(story.summary())}.")
    return story


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
