"""What is uploaded: the same bytes every time, and installed in clean environments it works."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.effort import FULL

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Clean:
    """An environment that holds pbdp and nothing that it does not ask for."""

    folder: Path
    wheel: Path

    @property
    def packages(self) -> Path:
        return self.folder / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"

    def pbdp(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """The installed command; what it compiles serves the next one."""
        return run(self.folder / "bin" / "pbdp", *arguments, cwd=cwd, PYTHONDONTWRITEBYTECODE="")

    def add(self, *extras: str) -> None:
        """Install what the wheel asks for with these extras.

        `make soak` has it fetched from the package index. Other runs take it from the environment of the
        tests, which holds the same releases: every package that is asked for, and no other, is linked to.
        """
        if FULL:
            self.install(f"{self.wheel}[{','.join(extras)}]" if extras else f"{self.wheel}")
            return
        if not (self.folder / "bin" / "pbdp").exists():
            self.install("--no-deps", f"{self.wheel}")
        (pbdp,) = metadata.distributions(name="pbdp", path=[str(self.packages)])
        for package in asked_for(pbdp, frozenset(extras)).values():
            for name in {path.parts[0] for path in package.files or ()} - {"..", "__pycache__"}:
                if not (self.packages / name).exists():
                    (self.packages / name).symlink_to(Path(str(package.locate_file(name))))

    def install(self, *what: str) -> None:
        into = ["--python", str(self.folder), "install", "-q", "--no-compile", "--disable-pip-version-check"]
        done = run(sys.executable, "-m", "pip", *into, *what)
        if done.returncode and UNREACHABLE.search(done.stderr):
            pytest.skip("NOT RUN: the package index cannot be reached, so nothing can be installed")
        assert done.returncode == 0, done.stderr


def asked_for(
    package: metadata.Distribution,
    extras: frozenset[str],
    known: dict[str, metadata.Distribution] | None = None,
) -> dict[str, metadata.Distribution]:
    """What a package asks for, and what that asks for, of the environment of the tests."""
    found = {} if known is None else known
    for asked in map(Requirement, package.requires or ()):
        if asked.marker is not None and not any(
            asked.marker.evaluate({"extra": one}) for one in extras | {""}
        ):
            continue
        other = metadata.distribution(asked.name)
        assert asked.specifier.contains(other.version, prereleases=True), (asked, other.version)
        name = f"{canonicalize_name(asked.name)}{sorted(asked.extras)}"
        if name not in found:
            found[name] = other
            asked_for(other, frozenset(asked.extras), found)
    return found


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory, files: dict[str, Path]) -> Clean:
    folder = tmp_path_factory.mktemp("clean")
    assert run(sys.executable, "-m", "venv", "--without-pip", folder).returncode == 0
    made = Clean(folder=folder, wheel=files["wheel"])
    made.add()
    return made


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder, but for what Python has compiled."""
    if path.is_dir():
        return sum(size_of(each) for each in path.iterdir() if each.name != "__pycache__")
    return path.stat().st_size


def test_a_clean_environment_without_extras(clean: Clean, tmp_path: Path) -> None:
    assert sum(map(size_of, clean.packages.iterdir())) / 1e6 <= MOST_MEGABYTES
    done = clean.pbdp("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "pip install 'pbdp[tables]'" in done.stdout
    asked = ["--confidence", "0.9", "--sensitivity", "1", "--delta", "1e-6", "--integer"]
    drawn = clean.pbdp("plan", "--within", "5", *asked, "--plot", "p.png", cwd=tmp_path)
    assert drawn.returncode == 2
    assert "pip install 'pbdp[plot]'" in drawn.stderr


def test_a_clean_environment_with_extras(clean: Clean, tmp_path: Path) -> None:
    clean.add("tables", "plot")
    done = clean.pbdp("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "No errors found" in done.stdout
    assert "need an extra" not in done.stdout
