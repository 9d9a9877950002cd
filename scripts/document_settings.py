"""Writes the tables of docs/configuration.md from the typed sections; `--check` only says whether they agree."""

import ast
import sys
from pathlib import Path
from typing import Any

from session import sections
from session.game_configuration import GameConfiguration

PAGE = Path(__file__).resolve().parents[1] / "docs" / "configuration.md"
MARK = "<!-- The tables below are written by scripts/document_settings.py -->\n"


def explanations() -> dict[tuple[str, str], str]:
    """(section, key) → the line under the key."""
    found = {}
    for section in ast.parse(Path(sections.__file__).read_text(encoding="utf-8")).body:
        if isinstance(section, ast.ClassDef):
            for before, line in zip(section.body, section.body[1:], strict=False):
                if isinstance(before, ast.AnnAssign) and isinstance(line, ast.Expr):
                    found[section.name, before.target.id] = " ".join(ast.literal_eval(line.value).split())
    return found


def shown(default: Any) -> str:
    if default is None:
        return "unset"
    if isinstance(default, bool):
        return str(default).lower()
    return f'"{default}"' if isinstance(default, str) else str(default)


def tables() -> str:
    explained, lines = explanations(), []
    for table, field in GameConfiguration.model_fields.items():
        section = field.annotation
        lines += [f"\n## `[tool.zorkgpt.{table}]`\n", f"{section.__doc__}\n", "| key | default | what |"]
        lines.append("| --- | --- | --- |")
        for key, setting in section.model_fields.items():
            owners = [owner.__name__ for owner in section.__mro__]
            text = next((explained[owner, key] for owner in owners if (owner, key) in explained), "")
            lines.append(f"| `{key}` | `{shown(setting.default)}` | {text} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    page = PAGE.read_text(encoding="utf-8")
    written = page[: page.index(MARK)] + MARK + tables()
    if "--check" in sys.argv:
        return int(written != page)
    PAGE.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
