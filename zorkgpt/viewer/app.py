"""The viewer's web application: its routes, and edits of memories."""

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from zlib import crc32

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zorkgpt.errors import MemoryConflict, MemoryEditError, MemoryStoreError, ViewerError
from zorkgpt.memory.editing import Edit, edit, undo_last_change
from zorkgpt.memory.models import SubjectKey, fields_of
from zorkgpt.memory.parts import open_store
from zorkgpt.memory.places import parse_place
from zorkgpt.viewer.access import AccessControl, AccessRules, may_edit
from zorkgpt.viewer.answers import Answers, NotInRun, several_runs
from zorkgpt.viewer.run_files import RunFiles

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route


class EditRequest(BaseModel):
    """An edit requested by the page. Omitted fields are not changed."""

    model_config = ConfigDict(extra="forbid", strict=True)

    title: str = Field(min_length=1)
    expected: str
    """The text that the user saw when editing."""
    text: str | None = None
    category: str | None = None
    persistence: str | None = None
    status: str | None = None
    kind: str | None = None
    pinned: bool | None = None
    vetoed: bool | None = None
    reason: str | None = None
    undo: bool = False
    """Undo the last change of the memory. The other fields are ignored."""


def change(files: RunFiles, place: SubjectKey, body: bytes) -> tuple[int, dict[str, Any]]:
    """Apply an edit. Return the HTTP status and the answer: the changed memory, or why nothing was changed."""
    try:
        requested = EditRequest.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the request"
        return 400, {"error": f"Invalid request: {where}: {first['msg']}."}
    changes = Edit(**requested.model_dump(exclude={"title", "expected", "undo"}))
    try:
        # Opened for each edit, so that the store doesn't stay in memory.
        with closing(open_store(files.memory)) as store:
            title, expected = requested.title, requested.expected
            if requested.undo:
                memory = undo_last_change(store, place, title, expected=expected)
            else:
                memory = edit(store, place, title, changes, expected=expected)
    except MemoryConflict as error:
        return 409, {"error": str(error)}
    except MemoryEditError as error:
        return 400, {"error": str(error)}
    except MemoryStoreError as error:
        return 503, {"error": str(error)}
    return 200, {"memory": None if memory is None else fields_of(memory)}


# Starlette is in the optional extra `viewer`, so it is imported on use.

STATIC = Path(__file__).parent / "static"


def make_app(runs: Sequence[RunFiles], rules: AccessRules) -> "Starlette":
    """Return the application, with access control. Several runs are shown side by side."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.requests import ClientDisconnect
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles

    if len(runs) == 1:
        pages = [Route("/", _page("index.html")), Mount("/api", routes=_run_routes(runs[0], rules))]
    else:
        pages = [
            Route("/", _page("runs.html")),
            Route("/api/runs", _answering(lambda request: several_runs(runs))),
            *(Route(f"/runs/{number}/", _page("index.html")) for number in range(1, len(runs) + 1)),
            *(Mount(f"/api/runs/{number}", routes=_run_routes(files, rules)) for number, files in enumerate(runs, 1)),
        ]
    return Starlette(
        routes=[*pages, Mount("/static", StaticFiles(directory=STATIC))],
        middleware=[Middleware(AccessControl, rules=rules)],
        exception_handlers={404: _not_found, ClientDisconnect: _broken_off},
    )


def _run_routes(files: RunFiles, rules: AccessRules) -> "list[Route]":
    """Return the API routes of a run."""
    from starlette.routing import Route

    answers = Answers(files)

    def run(request: "Request") -> dict[str, Any]:
        answer = answers.run() | {"edit": may_edit(request.headers, rules)}
        version = {"version": str(crc32(json.dumps(answer).encode()))}
        # The page asks twice a second. Most answers are that nothing has changed.
        return version if version["version"] == request.query_params.get("known") else answer | version

    def place(request: "Request") -> dict[str, Any]:
        return answers.place(_place_of(request))

    def columns(request: "Request") -> dict[str, Any]:
        return answers.columns(request.path_params["episode"], _start(request))

    def search(request: "Request") -> dict[str, Any]:
        query = request.query_params
        return answers.search(query.get("q", ""), query.get("only", "").split(","), _start(request))

    return [
        Route("/run", _answering(run)),
        Route("/overview", _answering(lambda request: answers.overview())),
        Route("/memories", _answering(lambda request: answers.memories())),
        Route("/search", _answering(search)),
        Route("/export", _exporting(files)),
        Route("/map", _answering(lambda request: answers.map())),
        Route("/places/{place:path}", _answering(place)),
        Route("/episodes/{episode:int}/columns", _answering(columns)),
        *(
            Route(f"/episodes/{{episode:int}}/{path}", _answering(_from_path(ask)))
            for path, ask in (
                ("pages/{page:int}", answers.page),
                ("calls/{call:int}", answers.call),
                ("notes", answers.notes),
            )
        ),
        *([_editing(files)] if rules.edit_token else []),
    ]


def _exporting(files: RunFiles) -> "Callable[[Request], Response]":
    """Return an endpoint that exports the run as one file. Only one export runs at a time, because it is slow."""
    from starlette.responses import JSONResponse, Response

    from zorkgpt.viewer.export import chosen_episodes, exported

    busy = Lock()

    def export(request: "Request") -> "Response":
        if not busy.acquire(blocking=False):
            return JSONResponse({"error": "Another export is in progress. Try again in a moment."}, 503)
        try:
            page = exported(files, chosen_episodes(files, request.query_params.get("episodes")))
        except ViewerError as error:
            return JSONResponse({"error": str(error)}, 400)
        finally:
            busy.release()
        name = {"content-disposition": 'attachment; filename="run.html"'}
        return Response(page.encode("utf-8", "backslashreplace"), media_type="text/html", headers=name)

    return export


def _editing(files: RunFiles) -> "Route":
    from starlette.responses import Response
    from starlette.routing import Route

    async def edit(request: "Request") -> "Response":
        try:
            place = _place_of(request)
        except NotInRun as error:
            return Response(json.dumps({"error": str(error)}), 404, media_type="application/json")
        # The server limits the size of the body.
        status, answer = await asyncio.to_thread(change, files, place, await request.body())
        return Response(json.dumps(answer), status, media_type="application/json")

    return Route("/places/{place:path}/memories", edit, methods=["POST"])


def _start(request: "Request") -> int:
    start = request.query_params.get("from", "0")
    return int(start[:9]) if start.isascii() and start.isdecimal() else 0


def _place_of(request: "Request") -> SubjectKey:
    """Return the place in the request's path, written as JSON.

    Raises:
        NotInRun: If it is not a valid key of a place.
    """
    try:
        return parse_place(request.path_params["place"])
    except ValueError:
        raise NotInRun("No such place in this run.") from None


def _from_path(ask: Callable[..., dict[str, Any]]) -> "Callable[[Request], dict[str, Any]]":
    """Return a function that calls `ask` with the parameters of the request's path."""
    return lambda request: ask(**request.path_params)


def _answering(ask: "Callable[[Request], dict[str, Any]]") -> "Callable[[Request], Response]":
    """Return an endpoint that answers as JSON. It is synchronous, so that Starlette runs it in a worker thread."""
    from starlette.responses import JSONResponse, Response

    def answer(request: "Request") -> "Response":
        try:
            # Escaped as ASCII, because UTF-8 can't encode lone surrogates.
            return Response(json.dumps(ask(request)), media_type="application/json")
        except NotInRun as error:
            return JSONResponse({"error": str(error)}, 404)
        except OSError as error:
            return JSONResponse({"error": f"Can't read a file of the run: {error.strerror}."}, 503)

    return answer


def _page(name: str) -> "Callable[[Request], Response]":
    def page(request: "Request") -> "Response":
        from starlette.responses import FileResponse

        return FileResponse(STATIC / name, headers={"cache-control": "no-cache"})

    return page


def _not_found(request: "Request", error: Exception) -> "Response":
    from starlette.responses import JSONResponse

    return JSONResponse({"error": "Not found."}, 404)


def _broken_off(request: "Request", error: Exception) -> "Response":
    """Answer a request whose body is incomplete. Nobody reads it, but without an answer the error would be logged."""
    from starlette.responses import Response

    return Response(status_code=400)
