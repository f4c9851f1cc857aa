"""A WebKit that tests drive, for the readers with Safari: Debian's WebKitGTK, by WebDriver, on a screen in memory."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from shutil import which
from typing import Any

from chromium import needed
from firefox import PATIENCE, connected, free_port


def needed_webkit() -> str:
    """Where WebKit's small browser is; skips the test without one, fails it without one in CI."""
    browsers = sorted(Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser"))
    complete = browsers and which("WebKitWebDriver") and which("Xvfb")
    path = str(browsers[-1]) if complete else None
    return needed(path, "no WebKit here: install Debian's webkit2gtk-driver and xvfb")


class Tab:
    """The one tab of a WebKit, by WebDriver: requests whose answers are JSON."""

    def __init__(self, port: int, browser: str) -> None:
        self._port, self._session = port, "/session"
        options = {"binary": browser, "args": ["--automation"]}
        capabilities = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        self._session += "/" + self._call("", capabilities=capabilities)["sessionId"]
        self._call("/timeouts", script=1000 * PATIENCE)

    def _call(self, command: str, method: str = "POST", **given: Any) -> Any:
        with closing(HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)) as line:
            line.request(method, self._session + command, json.dumps(given) if method == "POST" else None)
            answer = line.getresponse()
            value = json.load(answer)["value"]
        if answer.status != HTTPStatus.OK:
            raise RuntimeError(f"{command}: {value['message']}")
        return value

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


@contextmanager
def webkit(path: str) -> Iterator[Tab]:
    """A WebKit on a screen of its own, and its tab."""
    port = free_port()
    quiet: dict[str, Any] = {"stderr": subprocess.DEVNULL}
    screen = subprocess.Popen(["Xvfb", "-displayfd", "1", "-nolisten", "tcp"], stdout=subprocess.PIPE, **quiet)
    try:
        assert screen.stdout is not None
        display = {**os.environ, "DISPLAY": f":{int(screen.stdout.readline())}"}
        driver = subprocess.Popen(
            ["WebKitWebDriver", f"--port={port}"], env=display, stdout=subprocess.DEVNULL, **quiet
        )
        try:
            connected(port).close()
            tab = Tab(port, path)
            yield tab
            tab.close()
        finally:
            driver.terminate()
            driver.wait()
    finally:
        screen.terminate()
        screen.wait()
