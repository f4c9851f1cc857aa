"""Fixtures for the tests of what is shown."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # show_toy.py and show_browser.py, which benchmarks import too

from show_browser import chromium


@pytest.fixture
def with_chromium() -> None:
    """Skip where there is no Chromium; in CI that is a failure."""
    if chromium() is None:
        message = "Chromium not found: install Debian's chromium, or name it in $CHROMIUM"
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(message)
        pytest.skip(message)
