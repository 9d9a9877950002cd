"""Clean an old memory file of what it says more than once: shows what it would merge, and why, before it does.

    uv run python scripts/deduplicate_existing_memories.py --threshold 0.85 --dry-run [--workdir FOLDER | --file FILE]

Without --dry-run it merges; the file as it was is kept beside it. The same as `zorkgpt memories dedupe`.
"""

import sys

from zorkgpt.cli.app import run

if __name__ == "__main__":
    given = sys.argv[1:]
    wanted = [argument for argument in given if argument != "--dry-run"]
    sys.exit(run(["memories", "dedupe", *([] if "--dry-run" in given else ["--apply"]), *wanted]))
