"""Edit memories from the page, through the same store as every other change."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zorkgpt.errors import MemoryConflict, MemoryEditError, MemoryStoreError
from zorkgpt.memory.editing import Edit, edit
from zorkgpt.memory.models import PlaceKey, fields_of
from zorkgpt.memory.storage.markdown import MarkdownStore
from zorkgpt.viewer.run_files import RunFiles

LONGEST_BYTES = 20_000_000


class EditRequest(BaseModel):
    """An edit that the page requests; fields that are not given stay as they are."""

    model_config = ConfigDict(extra="forbid", strict=True)

    title: str = Field(min_length=1)
    expected: str
    """The text that the person saw when editing."""
    text: str | None = None
    category: str | None = None
    persistence: str | None = None
    status: str | None = None
    pinned: bool | None = None
    vetoed: bool | None = None
    reason: str | None = None


def change(files: RunFiles, place: PlaceKey, body: bytes) -> tuple[int, dict[str, Any]]:
    """Return the HTTP status and the answer: the memory as it is now, or why nothing was changed."""
    if len(body) > LONGEST_BYTES:
        return 413, {"error": "The request is too large."}
    try:
        wanted = EditRequest.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the request"
        return 400, {"error": f"Invalid request: {where}: {first['msg']}."}
    asked = Edit(**wanted.model_dump(exclude={"title", "expected"}))
    try:
        # Opened for each edit, so that nothing of the file is kept in memory otherwise.
        memory = edit(
            MarkdownStore(files.workdir / files.names.memory), place, wanted.title, asked, expected=wanted.expected
        )
    except MemoryConflict as error:
        return 409, {"error": str(error)}
    except MemoryEditError as error:
        return 400, {"error": str(error)}
    except MemoryStoreError as error:
        return 503, {"error": str(error)}
    return 200, {"memory": fields_of(memory)}
