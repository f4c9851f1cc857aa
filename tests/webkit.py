"""A WebKit that tests drive, for the readers with Safari: Debian's WebKitGTK, by WebDriver, on a screen in memory."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import which
from typing import Any

from chromium import needed

START = 60  # seconds that it may take to start
PATIENCE = 300  # and to answer


def needed_webkit() -> str:
    """Where WebKit's small browser is; skips the test without one, fails it without one in CI."""
    browsers = sorted(Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser"))
    complete = browsers and which("WebKitWebDriver") and which("Xvfb")
    path = str(browsers[-1]) if complete else None
    return needed(path, "no WebKit here: install Debian's webkit2gtk-driver and xvfb")


class Tab:
    """The one tab of a WebKit, by WebDriver: requests whose answers are JSON."""

    def __init__(self, port: int, browser: str) -> None:
        self._address = f"http://127.0.0.1:{port}/session"
        options = {"binary": browser, "args": ["--automation"]}
        capabilities = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        self._address += "/" + self._call("", capabilities=capabilities)["sessionId"]
        self._call("/timeouts", script=1000 * PATIENCE)

    def _call(self, command: str, method: str = "POST", **given: Any) -> Any:
        body = json.dumps(given).encode() if method == "POST" else None
        try:
            with urllib.request.urlopen(
                urllib.request.Request(self._address + command, body, method=method), timeout=PATIENCE
            ) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{command}: {error.read().decode()}") from None

    def goto(self, address: str) -> None:
        """Open an address and wait until it is loaded."""
        self._call("/url", url=address)

    def evaluate(self, function: str, *given: Any) -> Any:
        """What a JavaScript function, which may be asynchronous, makes of values."""
        script = f"const done = arguments[arguments.length - 1], given = [...arguments].slice(0, -1); \
          (async () => ({function})(...given))().then((value) => done([value]), (error) => done(String(error)));"
        result = self._call("/execute/async", script=script, args=given)
        if isinstance(result, str):
            raise RuntimeError(result)
        return result[0]

    def close(self) -> None:
        """End the session, which closes the browser."""
        self._call("", method="DELETE")


def _wait_for(port: int) -> None:
    until = time.monotonic() + START
    while time.monotonic() < until:
        with suppress(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
            return
        time.sleep(0.1)
    raise TimeoutError(f"WebKit's driver does not answer within {START} s")


@contextmanager
def webkit(path: str) -> Iterator[Tab]:
    """A WebKit on a screen of its own, and its tab."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet: dict[str, Any] = {"stderr": subprocess.DEVNULL}
    screen = subprocess.Popen(["Xvfb", "-displayfd", "1", "-nolisten", "tcp"], stdout=subprocess.PIPE, **quiet)
    try:
        assert screen.stdout is not None
        display = {**os.environ, "DISPLAY": f":{int(screen.stdout.readline())}"}
        driver = subprocess.Popen(
            ["WebKitWebDriver", f"--port={port}"], env=display, stdout=subprocess.DEVNULL, **quiet
        )
        try:
            _wait_for(port)
            tab = Tab(port, path)
            yield tab
            tab.close()
        finally:
            driver.terminate()
            driver.wait()
    finally:
        screen.terminate()
        screen.wait()
