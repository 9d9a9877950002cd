"""The program `zorkgpt`, also as `python -m zorkgpt`."""

import sys

_BAD_INPUT = 2


def main() -> None:
    """Run the command line, or say what it needs that is not installed."""
    try:
        from zorkgpt.cli import main as run
    except ModuleNotFoundError as problem:
        if sys.stderr is not None:
            sys.stderr.write(f"zorkgpt: {problem}\n")
        sys.exit(_BAD_INPUT)
    run()


if __name__ == "__main__":
    main()
