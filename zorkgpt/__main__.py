"""`python -m zorkgpt`."""

from zorkgpt.cli import main

if __name__ == "__main__":
    main()
