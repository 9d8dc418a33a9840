"""The parts of pbdp import one another in one direction, and `import pbdp` stays light."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINT_IMPORTS = Path(sysconfig.get_path("scripts")) / "lint-imports"


def run(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)


def test_imports_go_one_way() -> None:
    done = run(LINT_IMPORTS, "--no-cache")

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("module", "imported"),
    [("errors", "pbdp.planning"), ("planning.plan", "reproduction"), ("cli.plan", "reproduction.published")],
)
def test_an_import_against_the_direction_is_found(tmp_path: Path, module: str, imported: str) -> None:
    shutil.copytree(ROOT / "src" / "pbdp", tmp_path / "pbdp")
    shutil.copytree(ROOT / "reproduction", tmp_path / "reproduction")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    path = tmp_path / "pbdp" / f"{module.replace('.', '/')}.py"
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\nimport {imported}\n")

    # lint-imports looks in the current folder first, so it reads the copy
    done = run(LINT_IMPORTS, "--no-cache", cwd=tmp_path)

    assert done.returncode == 1
    assert f"pbdp.{module} -> {imported}" in done.stdout


def test_the_product_has_no_switch_to_make_it_crash() -> None:
    """Tests that kill wrap the stores from outside (`tests/ledger/moments.py`)."""
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"crash_at|SIGKILL|os\._exit|os\.abort", text, re.IGNORECASE), path


def built_wheel(folder: Path, version: str) -> dict[str, str]:
    """What a wheel holds at its top, but its description; a folder stands for what is in it."""
    done = run(sys.executable, "-m", "hatchling", "build", "-t", f"wheel:{version}", "-d", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        return {
            name.partition("/")[0]: "" if "/" in name else files.read(name).decode()
            for name in files.namelist()
            if ".dist-info/" not in name
        }


def test_the_wheel_holds_pbdp_alone(tmp_path: Path) -> None:
    assert built_wheel(tmp_path, "standard").keys() == {"pbdp"}


def test_an_editable_install_finds_the_reproduction_too(tmp_path: Path) -> None:
    (folders,) = built_wheel(tmp_path, "editable").values()
    assert {Path(folder) for folder in folders.splitlines()} == {ROOT, ROOT / "src"}


@pytest.fixture(scope="module")
def loaded_by_import() -> frozenset[str]:
    """The modules in a fresh interpreter after `import pbdp`."""
    done = run(sys.executable, "-c", "import pbdp, sys; print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    return frozenset(done.stdout.split())


def test_the_list_of_loaded_modules_holds_pbdp(loaded_by_import: frozenset[str]) -> None:
    assert "pbdp" in loaded_by_import


@pytest.mark.parametrize("heavy", ["numpy", "scipy", "cryptography", "matplotlib", "pandas"])
def test_import_pbdp_does_not_load(heavy: str, loaded_by_import: frozenset[str]) -> None:
    assert heavy not in loaded_by_import


SIMPLE = "plan --within 5 --confidence 0.9 --sensitivity 1 --delta 1e-6 --integer"


@pytest.mark.parametrize(
    ("command", "spared"),
    [
        ("plan --help", ["numpy"]),
        ("tables --help", ["numpy"]),
        ("plan --within 5", ["numpy"]),
        ("plan --within -5 --confidence 0.9 --sensitivity 1 --delta 1e-6", ["pbdp.planning.planner"]),
        (SIMPLE, ["scipy", "cryptography", "pbdp.accounting.composition", "reproduction", "sqlite3"]),
        ("ledger create visits --epsilon -1 --delta 1e-6", ["scipy", "pbdp.planning.planner"]),
    ],
)
def test_a_command_loads_what_it_uses(command: str, spared: list[str], tmp_path: Path) -> None:
    """Start-up is most of the time of a small command; numbers of seconds would depend on the machine."""
    code = "import sys; from pbdp.cli.main import main\ntry: main(sys.argv[1:])\nfinally: print(*sys.modules)"
    done = run(sys.executable, "-c", code, *command.split(), cwd=tmp_path)
    loaded = done.stdout.splitlines()[-1].split()
    assert "pbdp.cli.main" in loaded
    assert not set(spared).intersection(loaded)
