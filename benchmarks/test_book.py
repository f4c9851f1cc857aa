"""How long the book takes: an explorer's move in the page, and a cold build. Run with `make bench`."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "show"))

from show_browser import find_chromium, move_times, write_page  # noqa: E402

from colllib.show import cost_explorer, trace_player  # noqa: E402


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium")
@pytest.mark.parametrize("build", [trace_player, cost_explorer])
def test_moves_of_an_explorer_in_a_page(benchmark, tmp_path, build):
    """Target: 5 ms of script time a move. The measured moves stand in extra_info, in ms."""
    page = write_page(tmp_path, build())
    times = benchmark.pedantic(lambda: sorted(move_times(page)), rounds=1)
    benchmark.extra_info.update(target_ms=5, median_ms=times[len(times) // 2], slowest_ms=times[-1], moves=len(times))
    print(
        f"\n{build.__name__}: median {times[len(times) // 2]:.2f} ms, slowest {times[-1]:.2f} ms of {len(times)} moves"
    )


def test_cold_build_of_the_book(benchmark, tmp_path):
    """Target: 90 s of CPU."""
    source = tmp_path / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".git", ".venv", "_build", ".cache", "__pycache__"))
    command = [
        str(Path(sys.executable).parent / "jupyter-book"),
        "build",
        str(source),
        "-W",
        "-n",
        "--keep-going",
        "--all",
        "-q",
    ]
    result = benchmark.pedantic(lambda: subprocess.run(command, capture_output=True, check=False), rounds=1)
    assert result.returncode == 0
