"""`uv run python main.py`: play. `uv run python main.py --help` lists what else there is."""

from zorkgpt.__main__ import main

if __name__ == "__main__":
    main()
