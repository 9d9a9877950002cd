"""Tests of the commands `view` and `play --view`."""

import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.fixtures.command_line import ROOT, Started, command
from tests.fixtures.viewer import served, started, turn, write_log

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("deleted", "{folder} is not a folder. "),
        ("file.txt", "{folder} is not a folder. "),
        ("empty", "There is no run in {folder}. "),
        ("other", "There is no run in {folder}. "),
    ],
)
def test_folder_without_a_run_is_refused(tmp_path, name, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    for file in ("file.txt", "other/notes.txt"):
        (tmp_path / file).write_text("Not a run.")
    folder = tmp_path / name
    for words in ((), ("--workdir",)):
        done = command("view", *words, str(folder))
        assert done.returncode == 2
        assert done.stderr.startswith(f"zorkgpt: {message.format(folder=folder)}")
        assert "such as game_files/slack-water" in done.stderr
        assert "Traceback" not in done.stderr


def test_port_in_use_is_refused(tmp_path):
    write_log(tmp_path, started(), turn(1))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = command("view", str(tmp_path), "--port", str(taken.getsockname()[1]))
    assert done.returncode == 2
    assert "Choose another port with --port." in done.stderr


@pytest.mark.parametrize("host", ["no-such-host.invalid", "192.0.2.1", "2001:db8::1"])
def test_foreign_host_address_is_refused(tmp_path, host):
    write_log(tmp_path, started(), turn(1))
    done = command("view", str(tmp_path), "--host", host)
    assert done.returncode == 2
    assert done.stderr.startswith(f"zorkgpt: The viewer can't listen on {host}: ")
    assert done.stderr.endswith(". Choose another address with --host.\n")


@pytest.mark.parametrize(
    ("file", "message"), [("no/run.html", "Choose another file with --export."), ("", "Name a file for the export")]
)
def test_unwritable_export_is_refused(tmp_path, file, message):
    write_log(tmp_path, started(), turn(1))
    done = command("view", str(tmp_path), "--export", file and str(tmp_path / file))
    assert (done.returncode, message in done.stderr) == (2, True)


def test_viewer_listens_on_localhost_only(tmp_path):
    write_log(tmp_path, started(), turn(1))
    with served(tmp_path) as address:
        port = int(re.search(r":(\d+)/", address)[1])
        listening = {line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]}
        assert f"0100007F:{port:04X}" in listening
        assert f"00000000:{port:04X}" not in listening


@pytest.mark.parametrize(("host", "shown"), [("0.0.0.0", "http://127.0.0.1:"), ("::", "http://[::1]:")])
def test_other_machines_need_the_token(tmp_path, host, shown):
    write_log(tmp_path, started(), turn(1))
    with served(tmp_path, "--host", host) as address:
        assert address.startswith(shown)
        base, token = re.fullmatch(r"(.*/)#token=(.+)", address).groups()
        assert httpx.get(f"{base}api/run").status_code == 401
        assert httpx.get(f"{base}api/run", headers={"authorization": f"Bearer {token}"}).status_code == 200


def test_ctrl_c_ends_the_viewer_quietly(tmp_path):
    write_log(tmp_path, started(), turn(1))
    with Started("view", str(tmp_path), "--edit", "--port", "0") as process:
        address, token = re.search(r"(http://\S+)#token=(\S+)", process.stdout.readline()).groups()
        parts = urlsplit(address)
        with socket.create_connection((parts.hostname, parts.port)) as broken_off:
            head = f"POST /api/places/10/memories HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {token}"
            broken_off.sendall(f"{head}\r\nContent-Length: 90\r\n\r\n{{".encode())
        httpx.get(f"{address}api/run")
        process.send_signal(signal.SIGINT)
        _, errors = process.finish()
    assert (process.returncode, errors) == (0, "")


def test_play_with_view_shows_the_run_until_it_ends(tmp_path):
    words = ["play", "--workdir", str(tmp_path), "--player", "rules", "--episodes", "1", "--max-turns", "300"]
    watched = [sys.executable, "-m", "zorkgpt", *words, "--delay", "0.05", "--quiet", "--view"]
    with subprocess.Popen(
        watched, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    ) as process:
        address = re.search(r"http://\S+", process.stderr.readline())[0]
        while not any(row["count"] for row in httpx.get(f"{address}api/run").json()["episodes"]):
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}api/run", timeout=5)
