"""Events as a real rsyslog of Debian takes them."""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ragstone.core.caller import Caller
from ragstone.core.turn import Principal
from ragstone.plugins.audit.events import Subject, make_event
from ragstone.plugins.audit.settings import AuditSettings
from ragstone.plugins.audit.syslog import format_message
from ragstone.plugins.audit.trail import Trail
from tests.patience import PATIENCE
from tests.ports import free_port

NAME = "Überstunden\n<34>1 forged\u2028🙂 " + 250 * "x"
CONFIG = """
module(load="imudp") input(type="imudp" address="127.0.0.1" port="{port}")
module(load="imtcp") input(type="imtcp" address="127.0.0.1" port="{port}")
template(name="plain" type="string" string=
  "%syslogfacility% %syslogseverity-text% %app-name% %procid% %msgid% %msg%\\n")
action(type="omfile" file="{out}" template="plain" asyncWriting="off")
"""
DAEMON = shutil.which("rsyslogd") or "/usr/sbin/rsyslogd"


@contextmanager
def rsyslog(folder: Path, port: int) -> Iterator[None]:
    config = folder / "rsyslog.conf"
    config.write_text(CONFIG.format(port=port, out=folder / "out"))
    command = [DAEMON, "-n", "-f", str(config), "-i", str(folder / "pid")]
    process = subprocess.Popen(command)
    try:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait()


def take_lines(folder: Path, count: int) -> list[str]:
    out, end = folder / "out", time.monotonic() + PATIENCE
    while not out.exists() or out.read_text().count("\n") < count:
        assert time.monotonic() < end, out.exists() and out.read_text()
        time.sleep(0.05)
    return out.read_text().splitlines()


def make(refused: bool = False) -> dict[str, object]:
    who = Subject(Caller(Principal("default", "ada"), key="key:1"), Principal("default", "ada"))
    outcome = "refused" if refused else "allowed"
    return make_event("read", "reading.read", who, outcome, names=(("path", NAME),))


@pytest.mark.real
@pytest.mark.skipif(
    not os.access(DAEMON, os.X_OK) and not os.environ.get("CI"), reason="needs rsyslog"
)
@pytest.mark.parametrize("scheme", ["udp", "tcp"])
async def test_a_real_rsyslog_reads_every_event_as_it_is(tmp_path: Path, scheme: str) -> None:
    port = free_port()
    settings = AuditSettings(folder=str(tmp_path / "trail"), syslog=f"{scheme}://127.0.0.1:{port}")
    with rsyslog(tmp_path, port):
        trail = Trail(settings)
        events = [make(), make(refused=True), *(make() for _ in range(20))]
        for event in events:
            await trail.write(event)
        lines = take_lines(tmp_path, len(events))
        await trail.aclose()

    assert trail.unsent == 0
    heads = [line.split(" ", 5)[:5] for line in lines]
    pid = str(os.getpid())
    assert heads[0] == ["13", "info", "ragstone", pid, "read"]
    assert heads[1] == ["13", "warning", "ragstone", pid, "read"]
    assert [json.loads(line.split(" ", 5)[5]) for line in lines] == events


@pytest.mark.real
@pytest.mark.skipif(
    not os.access(DAEMON, os.X_OK) and not os.environ.get("CI"), reason="needs rsyslog"
)
async def test_a_syslog_server_that_starts_again_gets_what_comes_then(tmp_path: Path) -> None:
    port = free_port()
    settings = AuditSettings(folder=str(tmp_path / "trail"), syslog=f"tcp://127.0.0.1:{port}")
    with rsyslog(tmp_path, port):
        trail = Trail(settings)
        await trail.write(make())
        take_lines(tmp_path, 1)
    await trail.write(make())
    await trail.write(make())
    with rsyslog(tmp_path, port):
        await trail.write(make())
        take_lines(tmp_path, 2)
        await trail.aclose()

    assert len(list(trail.read_back())) == 4


async def test_a_server_that_is_not_there_costs_no_event_of_the_trail(tmp_path: Path) -> None:
    settings = AuditSettings(
        folder=str(tmp_path / "trail"), syslog=f"tcp://127.0.0.1:{free_port()}"
    )
    trail = Trail(settings)
    await trail.write(make())
    await trail.aclose()

    assert trail.unsent == 1
    assert len(list(trail.read_back())) == 1


def test_a_message_is_one_line_of_rfc_5424() -> None:
    message = format_message(make())

    assert message.startswith(b"<110>1 20")
    assert message.isascii()
    assert b"\n" not in message
    assert message.split(b" ", 7)[6] == b"-"
