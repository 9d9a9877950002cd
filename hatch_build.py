"""Put the rooms beside `zorkgpt/` into the wheel, under names that no other program's imports can meet.

A checkout imports `session`, `managers` and the like as top-level packages. Installed, such names would collide with
other people's. So in the wheel they are subpackages of `zorkgpt._app`, and every import of them says so.
"""

import ast
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOMS = ("game_interface", "managers", "orchestration", "session")
STORIES = Path("infrastructure", "games")
HOME = "zorkgpt._app"

_IMPORT = re.compile(rf"^(\s*from )(?=(?:{'|'.join(ROOMS)})\b)", re.MULTILINE)


class RoomsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Hatchling calls it before it builds a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Stage what the wheel carries otherwise than the checkout has it."""
        if version == "editable":
            return
        self._staging = Path(tempfile.mkdtemp(prefix="zorkgpt-wheel-"))
        home = Path(*HOME.split("."))
        root = Path(self.root)
        for path in sorted(root.glob("zorkgpt/**/*.py")):
            self._stage(path, path.relative_to(root), build_data, only_if_changed=True)
        for room in ROOMS:
            for path in sorted(root.glob(f"{room}/**/*.py")):
                self._stage(path, home / path.relative_to(root), build_data)
        for path in sorted(root.glob(f"{STORIES}/**/*")):
            if path.is_file():
                build_data["force_include"][str(path)] = str(home / path.relative_to(root))
        package = self._staging / "__init__.py"
        package.write_text(
            '"""What plays: the rooms that stand beside `zorkgpt/` in a checkout."""\n', encoding="utf-8"
        )
        build_data["force_include"][str(package)] = str(home / "__init__.py")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Throw the staged files away."""
        if version != "editable":
            shutil.rmtree(self._staging)

    def _stage(self, path: Path, target: Path, build_data: dict[str, Any], *, only_if_changed: bool = False) -> None:
        source = path.read_text(encoding="utf-8")
        moved = _IMPORT.sub(rf"\1{HOME}.", source)
        if only_if_changed and moved == source:
            return
        _check(moved, path)
        staged = self._staging / "files" / target
        staged.parent.mkdir(parents=True, exist_ok=True)
        staged.write_text(moved, encoding="utf-8")
        build_data["force_include"][str(staged)] = str(target)


def _check(source: str, path: Path) -> None:
    """Refuse an import that was left as it is: in the wheel it would find nothing."""
    for node in ast.walk(ast.parse(source)):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            modules = [node.module or ""]
        for module in modules:
            if module.split(".")[0] in ROOMS:
                raise ValueError(f"{path}:{node.lineno}: `{module}` must be imported as `from {module} import ...`.")
