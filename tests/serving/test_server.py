"""Start and end of the page: what is wrong is said before it starts, and Ctrl-C ends it."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import ExitStack, contextmanager

import pytest
from typer.testing import CliRunner

from domindex.cli import app
from domindex.errors import DomindexError, InputError
from domindex.serving import ServedRun, ServeSettings, serve_run, served_run
from domindex.serving.served_run import EndedError, Upload, in_thread
from domindex.tables import TextFormat


def serve_error(*arguments):
    result = CliRunner().invoke(app, ["serve", *map(str, arguments)])
    assert result.stderr.count("\n") == 1
    return result.exit_code, result.stderr


def test_a_run_that_is_not_there_or_is_damaged_is_said_before_it_starts(damaged, tmp_path):
    assert serve_error(tmp_path / "none", "--port", 0)[0] == 2
    code, words = serve_error(tmp_path, "--port", 0)
    assert code == 2
    assert "run.json" in words
    (damaged / "model" / "model.json").write_text("{}")
    code, words = serve_error(damaged, "--port", 0)
    assert code == 2
    assert "model.json" in words


@pytest.mark.parametrize("change", [{"key": 3}, {"form": {"colour": "red"}}, {"form": []}])
def test_a_damaged_run_json_is_said_at_once(damaged, change):
    path = damaged / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=r"run\.json is damaged"):
        ServedRun.open(damaged)


def test_a_port_in_use_is_said(run):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, words = serve_error(run.folder, "--port", port)
    assert code == 2
    assert f"Port {port} is in use" in words


@pytest.mark.parametrize("host", ["no.such.name.invalid", "203.0.113.9", "a" * 70])
def test_an_address_that_is_none_of_ours_is_said(run, host):
    code, words = serve_error(run.folder, "--host", host, "--port", 0)
    assert code == 2
    assert "of this machine" in words


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_upload": 0},
        {"max_upload": float("nan")},
        {"max_upload": 1000},
        {"port": 70000},
        {"max_rows": 0},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        ServeSettings(**wrong)


def test_what_is_not_installed_is_named(run, monkeypatch):
    monkeypatch.setattr(served_run, "find_spec", lambda name: None)
    with pytest.raises(DomindexError, match=r"domindex\[serve\]"):
        serve_run(run)


@pytest.mark.parametrize(("host", "warned"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_others_than_this_machine_are_let_in_with_a_warning_only(run, monkeypatch, host, warned):
    lines = []
    monkeypatch.setattr(served_run, "_run", lambda *how: None)
    serve_run(run, host=host, port=0, say=lines.append)
    assert any("not loopback" in line for line in lines) == warned
    assert any(f"http://{host}:" in line for line in lines)


def test_a_prediction_under_way_is_given_up_when_the_page_is_ended(run, today):
    asked = ServedRun.open(run)
    with tempfile.TemporaryFile() as content:
        content.write(today.to_csv(index=False).encode())
        content.flush()
        upload = Upload("a.csv", content, TextFormat())
        assert len(asked.answer(upload).predictions) == len(today)
        asked.end()
        with pytest.raises(EndedError):
            asked.answer(upload)


def test_ending_does_not_wait_for_work_that_does_not_listen():
    ending, go_on = threading.Event(), threading.Event()

    async def ask():
        asyncio.get_running_loop().call_later(0.05, ending.set)
        return await in_thread(go_on.wait, ending)

    assert asyncio.run(ask()) is None
    go_on.set()


def test_it_starts_answers_and_ends_by_ctrl_c(run):
    command = [sys.executable, "-m", "domindex.cli", "serve", str(run.folder), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        line = process.stderr.readline()
        address = line.split(" at ")[1].split(" ")[0]
        deadline = time.monotonic() + 30
        with urllib.request.urlopen(address, timeout=30) as page:
            assert page.status == 200
            assert b"patients.csv" in page.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=max(1, deadline - time.monotonic())) == 0
        assert process.stderr.read().split() == ["Stopped."]
    finally:
        process.kill()
        process.stderr.close()


UPLOAD = (
    b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 900000\r\n"
    b"Content-Type: multipart/form-data; boundary=b\r\n\r\n"
    b'--b\r\nContent-Disposition: form-data; name="table"; filename="a.csv"\r\n\r\n'
)


@contextmanager
def serving(run, **settings):
    """A server in a process of its own, and the port that it listens at."""
    code = "import sys, json; from domindex.serving import serve_run; "
    code += "serve_run(sys.argv[1], port=0, **json.loads(sys.argv[2]))"
    command = [sys.executable, "-c", code, str(run.folder), json.dumps(settings)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        yield process, int(process.stderr.readline().split(" at ")[1].split("/")[2].split(":")[1])
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def ask_for_the_page(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as page:
        return page.status


@pytest.fixture(scope="module")
def patient(run):
    with serving(run, header_seconds=2, max_connections=8, max_waiting=2) as (_, port):
        ask_for_the_page(port)
        yield port


@pytest.mark.parametrize("begun", [b"", b"GET / HT", UPLOAD], ids=["silent", "header", "upload"])
def test_connections_that_ask_nothing_do_not_keep_others_out(patient, begun):
    with ExitStack() as open_ones:
        for _ in range(30):
            one = open_ones.enter_context(socket.create_connection(("127.0.0.1", patient)))
            one.sendall(begun)
        assert ask_for_the_page(patient) == 200


def test_a_header_that_does_not_arrive_closes_its_connection(patient):
    for begun in (b"", b"GET / HT"):
        with socket.create_connection(("127.0.0.1", patient), timeout=10) as one:
            one.sendall(begun)
            assert one.recv(1) == b""
    with socket.create_connection(("127.0.0.1", patient), timeout=10) as one:  # a second request
        one.sendall(b"GET /icon.svg HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert one.recv(10)
        one.sendall(b"GET / HT")
        while one.recv(2**16):
            pass


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_is_ended_by_a_signal_leaves_nothing_of_an_upload(run, tmp_path, how):
    os.environ["TMPDIR"] = str(tmp_path)
    try:
        with serving(run, max_upload=10) as (process, port):
            with socket.create_connection(("127.0.0.1", port)) as one:
                one.sendall(UPLOAD.replace(b"900000", b"9000000") + b"s1,1,2\n" * 400_000)
                ask_for_the_page(port)
                process.send_signal(how)
                process.wait(timeout=20)
            assert not any(path.is_file() for path in tmp_path.rglob("*"))
    finally:
        del os.environ["TMPDIR"]
