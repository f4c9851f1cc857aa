"""A Firefox that tests drive: its own protocol over a socket, so that nothing needs to be installed beside it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from chromium import needed

START = 60  # seconds that it may take to start
PATIENCE = 300  # and to answer

#: Nothing is asked of the network: a proxy that does not exist answers for all addresses but files.
SETTINGS = """user_pref("marionette.port", {port});
user_pref("network.proxy.type", 1);
user_pref("network.proxy.http", "127.0.0.1");
user_pref("network.proxy.http_port", 9);
user_pref("network.proxy.ssl", "127.0.0.1");
user_pref("network.proxy.ssl_port", 9);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("app.update.enabled", false);
"""


def needed_firefox() -> str:
    """Where Firefox is; skips the test without one, fails it without one in CI."""
    path = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
    return needed(path, "no Firefox here: install Debian's firefox-esr")


class Tab:
    """The one tab of a Firefox, by Marionette: messages are JSON after their length and a colon."""

    def __init__(self, port: int) -> None:
        self._socket = connected(port)
        self._read()  # it says who it is
        self._count = 0
        self._call("NewSession")
        self._call("SetTimeouts", script=1000 * PATIENCE)

    def _read(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            length += self._received(1)
        body = b""
        while len(body) < int(length[:-1]):
            body += self._received(1 << 16)
        return json.loads(body)

    def _received(self, most: int) -> bytes:
        received = self._socket.recv(most)
        if not received:
            raise ConnectionError("Firefox has gone")
        return received

    def _call(self, command: str, **given: Any) -> Any:
        self._count += 1
        message = json.dumps([0, self._count, f"WebDriver:{command}", given]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        _, _, error, result = self._read()
        if error:
            raise RuntimeError(f"{command}: {error['message']}")
        return result

    def goto(self, address: str) -> None:
        """Open an address and wait until it is loaded."""
        self._call("Navigate", url=address)

    def evaluate(self, function: str, *given: Any) -> Any:
        """What a JavaScript function, which may be asynchronous, makes of values."""
        return self._call("ExecuteScript", script=f"return ({function})(...arguments);", args=given)["value"]


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def connected(port: int) -> socket.socket:
    """A connection to a program that has just been started."""
    until = time.monotonic() + START
    while time.monotonic() < until:
        with suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        time.sleep(0.1)
    raise TimeoutError(f"nobody answers on port {port} within {START} s")


@contextmanager
def firefox(path: str) -> Iterator[Tab]:
    """A Firefox with a profile of its own, and its tab."""
    port = free_port()
    with tempfile.TemporaryDirectory() as profile:
        Path(profile, "user.js").write_text(SETTINGS.format(port=port), encoding="utf-8")
        options = ["--headless", "--marionette", "--no-remote", "--profile", profile]
        environment = {**os.environ, "HOME": profile}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen([path, *options], env=environment, **quiet)
        try:
            yield Tab(port)
        finally:
            process.terminate()
            process.wait()
