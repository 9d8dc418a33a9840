"""What is uploaded: the same bytes every time, and installed in clean environments it works."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
UNREACHABLE = re.compile(
    r"NewConnectionError|Temporary failure|Could not find a version|No matching distribution"
)
# Megabytes of everything that `pip install pbdp` brings: numpy, SciPy and cryptography are nearly all of it.
MOST_MEGABYTES = 260


def run(*command: str | Path, cwd: Path = ROOT, **more: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", **more}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=600
    )


def built(folder: Path, source: Path = ROOT) -> dict[str, Path]:
    """A wheel and an sdist of a source folder."""
    done = run(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=source)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return built(tmp_path_factory.mktemp("dist"))


def test_the_same_bytes_every_time(files: dict[str, Path], tmp_path: Path) -> None:
    again = built(tmp_path / "again")
    with tarfile.open(files["sdist"]) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    from_sdist = built(tmp_path / "from sdist", source)
    for kind, path in files.items():
        assert again[kind].read_bytes() == path.read_bytes(), kind
        assert from_sdist[kind].read_bytes() == path.read_bytes(), kind


def test_links_lead_somewhere_from_an_index_page(files: dict[str, Path]) -> None:
    with zipfile.ZipFile(files["wheel"]) as wheel:
        (name,) = (each for each in wheel.namelist() if each.endswith("METADATA"))
        page = wheel.read(name).decode()
    targets = re.findall(r"\]\(([^)]+)\)", page)
    assert targets
    assert [target for target in targets if not re.match(r"https://|#", target)] == []
    # what they lead to is in the repository
    for target in targets:
        path = re.sub(r"^https://[^/]+/pbdp/pbdp/(?:blob/)?main/", "", target).partition("#")[0]
        assert path.startswith("https://") or not path or (ROOT / path).exists(), target


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, files: dict[str, Path]) -> Path:
    """The folder of commands of an environment that holds pbdp and nothing that it does not ask for."""
    folder = tmp_path_factory.mktemp("clean")
    assert run(sys.executable, "-m", "venv", folder).returncode == 0
    install(folder / "bin", f"{files['wheel']}")
    return folder / "bin"


def install(commands: Path, what: str) -> None:
    done = run(commands / "python", "-m", "pip", "install", "-q", "--no-compile", what)
    if done.returncode and UNREACHABLE.search(done.stderr):
        pytest.skip("NOT RUN: the package index cannot be reached, so nothing can be installed")
    assert done.returncode == 0, done.stderr


def test_a_clean_environment_without_extras(environment: Path, tmp_path: Path) -> None:
    packages = environment.parent / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    size = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file()) / 1e6
    tools = sum(path.stat().st_size for path in (packages / "pip").rglob("*") if path.is_file()) / 1e6
    assert size - tools <= MOST_MEGABYTES
    done = run(environment / "pbdp", "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "pip install 'pbdp[tables]'" in done.stdout
    asked = ["--confidence", "0.9", "--sensitivity", "1", "--delta", "1e-6", "--integer"]
    drawn = run(environment / "pbdp", "plan", "--within", "5", *asked, "--plot", "p.png", cwd=tmp_path)
    assert drawn.returncode == 2
    assert "pip install 'pbdp[plot]'" in drawn.stderr


def test_a_clean_environment_with_extras(environment: Path, files: dict[str, Path], tmp_path: Path) -> None:
    install(environment, f"{files['wheel']}[tables,plot]")
    done = run(environment / "pbdp", "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Sound as far as it was checked" in done.stdout
    assert "need an extra" not in done.stdout
