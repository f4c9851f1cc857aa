"""A module with doctests is the one that everybody imports, and what shares executions is run by one worker."""

import importlib
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parent / "colllib"


def pytest_collect_file(file_path: Path) -> None:
    """Import a module's package before pytest does, which else imports a second time what the package imports."""
    if file_path.is_relative_to(LIBRARY):
        importlib.import_module(".".join(file_path.parent.relative_to(LIBRARY.parent).parts))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With --dist loadfile one worker has all tests that execute the ledger of claims: each would execute it anew."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return "claims" if "claims" in file or file == "tests/test_readme.py" else file

    return ByFile(config, log) if config.getoption("dist") == "loadfile" else None
