"""Tests of access to the viewer."""

import pytest

from tests.fixtures.viewer import client, started, turn, write_history, write_log
from zorkgpt.viewer.access import AccessRules

ANSWERS = ["/api/run", "/api/map", "/api/places/10", "/api/episodes/1/pages/0"]


@pytest.fixture
def workdir(tmp_path):
    write_log(tmp_path, started(), turn(1))
    (tmp_path / "secret.txt").write_text("the secret")
    (tmp_path / "runs" / "secret.txt").write_text("the secret")
    return tmp_path


@pytest.mark.parametrize("path", ["/", "/static/main.js", "/static/page.css", *ANSWERS])
def test_page_and_api_are_served(workdir, path):
    assert client(workdir).get(path).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.evil.example",
        "192.168.1.5",
        "",
        "[",
        "evil\\@127.0.0.1",
        "127.0.0.1/evil",
    ],
)
@pytest.mark.parametrize("path", ["/", *ANSWERS])
def test_foreign_host_is_refused(workdir, host, path):
    """DNS names of others that point to this machine must get no answers."""
    answer = client(workdir).get(path, headers={"host": host})
    assert answer.status_code == 403
    assert "Hall" not in answer.text


@pytest.mark.parametrize(
    "place", [*("[" * n + "]" * n for n in (450, 600, 900)), "[" * 1200, '"x', "1" * 3000], ids=len
)
def test_invalid_place_key_is_not_found(workdir, place):
    page = client(workdir, AccessRules(edit_token="secret"))
    assert page.get(f"/api/places/{place}").status_code == 404
    known = {"authorization": "Bearer secret"}
    assert page.post(f"/api/places/{place}/memories", headers=known, content="[" * 1200).status_code == 404
    answer = page.post("/api/places/10/memories", headers=known, content="[" * 1200)
    assert (answer.status_code, answer.json()["error"][:16]) == (400, "Invalid request:")


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost:9000", "LOCALHOST", "[::1]:8765"])
def test_local_host_names_are_accepted(workdir, host):
    assert client(workdir).get("/api/run", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://127.0.0.1:1", "file://", "http://127.0.0.1:8765.evil.example", "http://["],
)
def test_foreign_origin_is_refused(workdir, origin):
    assert client(workdir).get("/api/run", headers={"origin": origin}).status_code == 403


def test_own_origin_is_accepted(workdir):
    assert client(workdir).get("/api/run", headers={"origin": "http://127.0.0.1:8765"}).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_site_may_link_to_the_page_but_not_read_the_api(workdir, site):
    headers = {"sec-fetch-site": site}
    assert client(workdir).get("/api/run", headers=headers).status_code == 403
    assert client(workdir).get("/", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../secret.txt",
        "/static/..%2f..%2f__init__.py",
        "/static/%2e%2e/app.py",
        "/static/..%5capp.py",
        "/static//etc/passwd",
        "/static/%00",
        "/secret.txt",
        "/runs/secret.txt",
        "/api/episodes/..%2f..%2fsecret.txt/columns",
        "/api/episodes/1/pages/..%2f..",
        "/api/episodes/-1/columns",
        "/api/episodes/1e3/columns",
        "/api/episodes/" + "9" * 5000 + "/columns",
        "/api/episodes/99/columns",
        "/api/episodes/1/calls/0",
        "/api/nothing",
    ],
)
def test_other_paths_are_not_found(workdir, path):
    answer = client(workdir).get(path)
    assert answer.status_code == 404
    assert "secret" not in answer.text.replace("secret.txt", "")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_links_to_other_runs_are_not_followed(workdir, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    write_log(elsewhere, started(), turn(1, response="the secret"))
    (workdir / "runs" / "2").symlink_to(elsewhere / "runs" / "1")
    (workdir / "runs" / "3").mkdir()
    (workdir / "runs" / "3" / "episode_log.jsonl").symlink_to(elsewhere / "runs" / "1" / "episode_log.jsonl")
    api = client(workdir)
    assert [row["episode"] for row in api.get("/api/run").json()["episodes"]] == [1]
    assert api.get("/api/episodes/2/pages/0").status_code == 404


def test_files_replaced_by_links_are_not_followed(workdir, tmp_path_factory):
    elsewhere = write_log(tmp_path_factory.mktemp("elsewhere"), started(), turn(1, response="the secret"))
    memory = {"title": "the secret", "text": "the secret"}
    write_history(elsewhere.parent, {"kind": "added", "location_id": 10, "before": None, "after": memory})
    api = client(workdir)
    api.get("/api/run")
    log = workdir / "runs" / "1" / "episode_log.jsonl"
    log.unlink()
    log.symlink_to(elsewhere)
    (workdir / "Memories.md.sqlite").symlink_to(elsewhere.parent / "Memories.md.sqlite")
    assert api.get("/api/run").json()["episodes"][0]["count"] == 0
    assert api.get("/api/episodes/1/pages/0").json()["rows"] == []
    assert api.get("/api/places/10").json()["threads"] == []


def test_security_headers_are_set(workdir):
    for path in ("/", "/api/run", "/static/main.js", "/nothing"):
        headers = client(workdir).get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_writing_methods_are_refused_without_edit(workdir, method):
    assert client(workdir).request(method, "/api/run").status_code == 405


def test_every_api_path_needs_the_token_on_other_hosts(workdir):
    rules = AccessRules.of("0.0.0.0", edit=False)
    api = client(workdir, rules)
    assert rules.token
    for path in ANSWERS:
        assert api.get(path).status_code == 401
        assert api.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
        assert api.get(f"{path}?token={rules.token}").status_code == 401
    for path in ANSWERS:
        assert api.get(path, headers={"authorization": f"Bearer {rules.token}"}).status_code == 200


def test_foreign_host_is_refused_even_with_the_token(workdir):
    rules = AccessRules.of("0.0.0.0", edit=False)
    shown = {"authorization": f"Bearer {rules.token}"}
    api = client(workdir, rules)
    assert api.get("/api/run", headers=shown | {"host": "192.168.1.5:8765"}).status_code == 200
    assert api.get("/api/run", headers=shown | {"host": "evil.example"}).status_code == 403


def test_localhost_needs_no_token_without_edit():
    assert AccessRules.of(None, edit=False) == AccessRules()
    assert AccessRules.of(None, edit=True).edit_token
    assert AccessRules.of("127.0.0.1", edit=False).token
