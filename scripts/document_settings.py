"""Write the tables of docs/configuration.md from the settings. With `--check`, only compare them."""

import ast
import sys
from pathlib import Path
from typing import Any

from session import sections

PAGE = Path(__file__).resolve().parents[1] / "docs" / "configuration.md"
MARK = "<!-- The tables below are written by scripts/document_settings.py -->\n"


def explanations() -> dict[tuple[str, str], str]:
    """Return (section, key) → docstring."""
    docstrings = {}
    for section in ast.parse(Path(sections.__file__).read_text(encoding="utf-8")).body:
        if isinstance(section, ast.ClassDef):
            for before, line in zip(section.body, section.body[1:], strict=False):
                match before, line:
                    case ast.AnnAssign(target=ast.Name(id=key)), ast.Expr(value=text):
                        docstrings[section.name, key] = " ".join(ast.literal_eval(text).split())
    return docstrings


def shown(default: Any) -> str:
    """Return a default in TOML syntax."""
    if default is None:
        return "unset"
    if isinstance(default, bool):
        return str(default).lower()
    return f'"{default}"' if isinstance(default, str) else str(default)


def tables() -> str:
    """Return the Markdown of all tables. Names with the same section share a table."""
    names: dict[type[sections.SettingsSection], list[str]] = {}
    for table, section in sections.SECTIONS.items():
        names.setdefault(section, []).append(f"`[tool.zorkgpt.{table}]`")
    explained, lines = explanations(), []
    for section, headings in names.items():
        lines += [f"\n## {', '.join(headings)}\n", f"{section.__doc__}\n", "| key | default | description |"]
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
