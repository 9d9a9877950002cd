"""A coding sandbox, where the tests have to pass. `python -m examples.sandbox` plays it with and without memory."""

from examples.agent import Outcome, main

ROOT, SOURCE, TESTS = "/app", "/app/src", "/app/tests"
_FOLDERS = {"go to src": SOURCE, "go to tests": TESTS}
_ACTIONS = {
    ROOT: ["npm install", "pip install .", "make", "pip install -r requirements-dev.txt"],
    SOURCE: ["reformat parser.py", "fix the off-by-one in parser.py", "rename parser.py"],
    TESTS: ["pytest --lf", "delete the failing test", "pytest"],
}


class Sandbox:
    """A container that is rebuilt for every episode."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start a new container, with no packages installed and the original files."""
        self.place = ROOT
        self.has_dependencies = self.is_fixed = False

    def actions(self) -> list[str]:
        return [*_ACTIONS[self.place], *(_FOLDERS if self.place == ROOT else ["go up"])]

    def act(self, action: str) -> Outcome:
        if action.startswith("go "):
            self.place = _FOLDERS.get(action, ROOT)
            return Outcome(f"You are in {self.place}.")
        if action == "pip install -r requirements-dev.txt" and not self.has_dependencies:
            self.has_dependencies = True
            return Outcome("pytest is installed.", changed=True)
        if action == "fix the off-by-one in parser.py" and not self.is_fixed:
            self.is_fixed = True
            return Outcome("parser.py is fixed.", changed=True)
        if action == "pytest":
            if not self.has_dependencies:
                return Outcome("pytest: command not found.")
            return Outcome("All tests pass.", done=True) if self.is_fixed else Outcome("1 failed: test_last_line.")
        return Outcome(f"{action}: it did not help.")


if __name__ == "__main__":
    main(Sandbox)
