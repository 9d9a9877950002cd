"""The command `mcp`: a memory behind the Model Context Protocol."""

from functools import partial

import typer

from zorkgpt.memory.agent_memory import AgentMemory


def serve_memory(path: str, *, host: str | None, port: int, token: str | None, read_only: bool) -> None:
    """Serve a memory until the client is gone or Ctrl-C.

    Raises:
        ConfigurationError: a package is missing, or others can reach the host and there is no token.
        MemoryStoreError: the file can't be read, or the server can't be reached.
    """
    from zorkgpt.adapters.mcp import serve

    with AgentMemory.open(path) as memory:
        # Standard output belongs to the protocol.
        serve(memory, host=host, port=port, token=token, read_only=read_only, ready=partial(typer.echo, err=True))
