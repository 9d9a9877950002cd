"""The results of several runs, side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zorkgpt.viewer.answers import Answers
from zorkgpt.viewer.run_files import RunFiles


def several_runs(runs: Sequence[RunFiles]) -> dict[str, Any]:
    """Return each run with the results of its episodes."""
    names = run_names([files.workdir for files in runs])
    return {
        "runs": [_run(number, name, files) for number, (name, files) in enumerate(zip(names, runs, strict=True), 1)]
    }


def _run(number: int, name: str, files: RunFiles) -> dict[str, Any]:
    answers = Answers(files)
    with files.lock:
        brief, figures = answers.run(), answers.overview()
    episodes = [row | more for row, more in zip(brief["episodes"], figures["episodes"], strict=True)]
    shown = name if files.only is None else f"{name}, episode {files.only}"
    return {"number": number, "name": shown, "names": brief["names"], "episodes": episodes}


def run_names(folders: Sequence[Path]) -> list[str]:
    """Return the shortest ends of the paths that are unique."""
    names = []
    for folder in folders:
        parts, others = folder.parts, {other for other in folders if other != folder}
        length = 1
        while length < len(parts) and any(other.parts[-length:] == parts[-length:] for other in others):
            length += 1
        names.append("/".join(parts[-length:]))
    return names
