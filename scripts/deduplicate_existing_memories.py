"""Merge duplicate memories in a file.

    uv run python scripts/deduplicate_existing_memories.py --threshold 0.85 --dry-run [--workdir FOLDER | --file FILE]

With --dry-run, the duplicates are only listed, with reasons. Otherwise, they are merged after a backup. The same as
`zorkgpt memories dedupe`.
"""

import sys

from zorkgpt.cli.app import run

if __name__ == "__main__":
    arguments = sys.argv[1:]
    passed_on = [argument for argument in arguments if argument != "--dry-run"]
    sys.exit(run(["memories", "dedupe", *([] if "--dry-run" in arguments else ["--apply"]), *passed_on]))
