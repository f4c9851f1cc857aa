"""The script under test, `scripts/notebooks.py`, as a module."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "notebooks.py"


@pytest.fixture(scope="session")
def script():
    spec = importlib.util.spec_from_file_location("notebooks_script", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
