"""The parts of pbdp import one another in one direction, and `import pbdp` stays light."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINT_IMPORTS = Path(sysconfig.get_path("scripts")) / "lint-imports"


def run(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)


def test_imports_go_one_way() -> None:
    done = run(LINT_IMPORTS, "--no-cache")

    assert done.returncode == 0, done.stdout + done.stderr


def test_an_import_against_the_direction_is_found(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src" / "pbdp", tmp_path / "pbdp")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "pbdp" / "errors.py").open("a", encoding="utf-8") as errors:
        errors.write("\nimport pbdp.planning\n")

    # lint-imports looks in the current folder first, so it reads the copy
    done = run(LINT_IMPORTS, "--no-cache", cwd=tmp_path)

    assert done.returncode == 1
    assert "pbdp.errors is not allowed to import pbdp.planning" in done.stdout


@pytest.fixture(scope="module")
def loaded_by_import() -> frozenset[str]:
    """The modules in a fresh interpreter after `import pbdp`."""
    done = run(sys.executable, "-c", "import pbdp, sys; print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    return frozenset(done.stdout.split())


def test_the_list_of_loaded_modules_holds_pbdp(loaded_by_import: frozenset[str]) -> None:
    assert "pbdp" in loaded_by_import


@pytest.mark.parametrize("heavy", ["scipy.optimize", "matplotlib", "pandas", "mpmath", "dp_accounting"])
def test_import_pbdp_does_not_load(heavy: str, loaded_by_import: frozenset[str]) -> None:
    assert heavy not in loaded_by_import
