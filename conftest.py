"""A module with doctests is the one that everybody imports."""

import importlib
from pathlib import Path

LIBRARY = Path(__file__).parent / "colllib"


def pytest_collect_file(file_path: Path) -> None:
    """Import a module's package before pytest does, which else imports a second time what the package imports."""
    if file_path.is_relative_to(LIBRARY):
        importlib.import_module(".".join(file_path.parent.relative_to(LIBRARY.parent).parts))
