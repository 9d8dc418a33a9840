"""The parts of pbdp import one another in one direction, and `import pbdp` stays light."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pbdp import Budget, Ledger, plan

ROOT = Path(__file__).resolve().parents[1]
LINT_IMPORTS = Path(sysconfig.get_path("scripts")) / "lint-imports"


def run(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)


def test_imports_go_one_way() -> None:
    done = run(LINT_IMPORTS, "--no-cache")

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("module", "imported"),
    [("errors", "pbdp.planning"), ("planning.plan", "reproduction"), ("planning.plan", "pbdp.published")],
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


@pytest.mark.parametrize(("way", "most"), [("python", 33), ("command line", 40)])
def test_a_paid_release_of_one_number_passes_through_few_files(
    way: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever follows a number from a saved plan to the ledger's row has that many files to read."""
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    made, ledger = tmp_path / "plan.json", tmp_path / "budget.db"
    plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6, integer=True).save(made)
    with Ledger.create(ledger) as opened:
        Budget.create(opened, "visits", epsilon=3, delta=1e-6)

    command = ["release", made, "1234", "--ledger", ledger, "--dataset", "visits"]
    given = [made, ledger, "visits"] if way == "python" else command
    done = run(sys.executable, "-m", "tests.files_passed", *map(str, given))

    assert done.returncode == 0, done.stderr
    files = done.stdout.split()
    assert "ledger/budget.py" in files
    assert "accounting/exact/tables.py" in files
    assert len(files) <= most, f"{len(files)} files\n{done.stdout}"


SIMPLE = "plan --within 5 --confidence 0.9 --sensitivity 1 --delta 1e-6 --integer"


@pytest.mark.parametrize(
    ("command", "spared"),
    [
        ("plan --help", ["numpy"]),
        ("tables --help", ["numpy"]),
        ("plan --within 5", ["numpy"]),
        ("plan --within -5 --confidence 0.9 --sensitivity 1 --delta 1e-6", ["pbdp.planning.planner"]),
        (SIMPLE, ["scipy", "cryptography", "pbdp.accounting.composition", "pbdp.published", "sqlite3"]),
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


# ------------------------------------------------------------------------------------- docs/architecture.md

PBDP = ROOT / "src" / "pbdp"


def places_named() -> Iterator[tuple[str, list[Path]]]:
    """Each file and folder that the page names, and where it is: a name may leave out a folder of its row."""
    for row in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").splitlines():
        folders = [PBDP, ROOT]
        for name in re.findall(r"`([\w/.]+(?:\.py|/))`", row):
            found = [folder / name for folder in folders if (folder / name).exists()]
            yield name, found
            folders += [path if path.is_dir() else path.parent for path in found]


def test_every_place_on_the_page_exists() -> None:
    places = list(places_named())
    assert ("planning/store.py", [PBDP / "planning" / "store.py"]) in places
    assert [name for name, found in places if not found] == []


def test_every_module_has_its_row_or_that_of_its_folder() -> None:
    named = {path for _, found in places_named() for path in found}
    modules = {path for path in PBDP.rglob("*.py") if path.name not in ("__init__.py", "__main__.py")}
    assert [path for path in sorted(modules) if named.isdisjoint({path, *path.parents} - {PBDP, ROOT})] == []
