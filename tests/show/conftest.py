"""Fixtures for the tests of what is shown."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # show_toy.py and show_browser.py, which benchmarks import too

from chromium import needed_chromium


@pytest.fixture
def with_chromium() -> None:
    """Skip where there is no Chromium; in CI that is a failure."""
    needed_chromium()
