"""`pbdp reproduce` where the paper's figures are not installed; where they are: `reproduction/tests`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pbdp
from tests.cli.commands import PLAN, run

PACKAGE = Path(pbdp.__file__).parent


@pytest.fixture(params=["absent", "another package of that name"])
def wheel(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder that holds what a wheel installs, and may hold what somebody else calls `reproduction`."""
    (tmp_path / "pbdp").symlink_to(PACKAGE)
    if request.param != "absent":
        (tmp_path / "reproduction").mkdir()
        (tmp_path / "reproduction" / "__init__.py").write_text("raise AssertionError", encoding="utf-8")
    return tmp_path


def run_in(wheel: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run without the repository on the path: -S leaves out what is installed, but for what pbdp needs."""
    needed = Path(pytest.__file__).parents[1]
    code = (
        f"import sys; sys.path[:0] = [{str(wheel)!r}, {str(needed)!r}]; "
        "from pbdp.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-I", "-S", "-c", code, *arguments]
    return subprocess.run(command, cwd=wheel, capture_output=True, text=True, timeout=60, check=False)


def test_without_the_package_the_command_is_not_listed(wheel: Path) -> None:
    shown = run_in(wheel, "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "plan" in shown.stdout
    assert "reproduce" not in shown.stdout
    assert run_in(wheel, "reproduce").returncode == 2


def test_without_the_package_no_figure_is_as_published(wheel: Path) -> None:
    explained = run_in(wheel, *PLAN, "--explain")
    assert (explained.returncode, explained.stderr) == (0, "")
    assert "Why:" in explained.stdout
    assert "as published" not in explained.stdout


def test_other_commands_do_not_import_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "reproduction", raising=False)
    listed = run(capsys, "--help")
    assert listed.code == 0
    assert "reproduce" in listed.out
    assert "reproduction" not in sys.modules
