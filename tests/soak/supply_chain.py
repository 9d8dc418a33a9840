"""What pbdp is built from: a bill of materials, and whether anything bad is known of it.

    python tests/soak/supply_chain.py sbom FILE       CycloneDX, from requirements.lock and pyproject.toml
    python tests/soak/supply_chain.py advisories      asks osv.dev for every package and version of the lock

`advisories` ends with exit code 1 if there is one, and with 0 if there is none, or if nobody can be asked:
then it says that nothing was checked.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OSV = "https://api.osv.dev/v1/querybatch"
SECONDS = 30
OWN = "pbdp"
_PACKAGE = re.compile(r"([A-Za-z0-9][\w.-]*)==(\S+)(?:\s*;\s*(.*?))?\s*\\?$")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


@dataclass(slots=True, kw_only=True)
class Package:
    """One line of the lock: a version, where it is used, its files' hashes, and what asked for it."""

    name: str
    version: str
    marker: str | None
    hashes: list[str] = field(default_factory=list)
    via: list[str] = field(default_factory=list)

    @property
    def purl(self) -> str:
        """Its address among all packages."""
        return f"pkg:pypi/{self.name}@{self.version}"


def locked(lines: Iterable[str]) -> list[Package]:
    """The packages of a lock file that uv wrote."""
    packages: list[Package] = []
    for line in lines:
        if found := _PACKAGE.match(line):
            name, version, marker = found.groups()
            packages.append(Package(name=name, version=version, marker=marker))
        elif "--hash=sha256:" in line:
            packages[-1].hashes.append(line.partition("sha256:")[2].strip(" \\\n"))
        elif packages and line.startswith("    #"):
            asked = line.strip("# \n").removeprefix("via").strip()
            packages[-1].via += [asked.split()[0]] if asked else []
    return packages


def scopes(packages: Iterable[Package], project: dict[str, Any]) -> dict[str, str]:
    """What is always installed, what comes with an extra that users name, and what only the tests need."""
    needs: dict[str, set[str]] = {}
    for package in packages:
        for above in package.via:
            needs.setdefault(above, set()).add(package.name)
    own, groups = project["project"], project["dependency-groups"]
    asked = {
        "excluded": [name for names in groups.values() for name in names],
        "optional": [name for names in own["optional-dependencies"].values() for name in names],
        "required": own["dependencies"],
    }
    found: dict[str, str] = {}
    for scope, names in asked.items():  # the strongest last
        waiting = [match.group() for name in names if (match := _NAME.match(name)) and match.group() != OWN]
        while waiting:
            name = waiting.pop()
            if found.get(name) != scope:
                found[name] = scope
                waiting += needs.get(name, ())
    return found


def sbom(packages: list[Package], project: dict[str, Any]) -> dict[str, Any]:
    """A CycloneDX document."""
    scope = scopes(packages, project)
    own = f"pkg:pypi/{OWN}@{project['project']['version']}"
    by_name: dict[str, list[str]] = {}
    for package in packages:
        by_name.setdefault(package.name, []).append(package.purl)
    depends: dict[str, list[str]] = {own: [], **{package.purl: [] for package in packages}}
    for package in packages:
        for above in package.via:
            for parent in [own] if above == OWN else by_name.get(above, []):
                depends[parent].append(package.purl)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": OWN,
                "version": project["project"]["version"],
                "purl": own,
                "licenses": [{"license": {"id": project["project"]["license"]}}],
            }
        },
        "components": [_component(package, scope.get(package.name, "excluded")) for package in packages],
        "dependencies": [
            {"ref": ref, "dependsOn": sorted(set(parts))} for ref, parts in sorted(depends.items())
        ],
    }


def _component(package: Package, scope: str) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
        "scope": scope,
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in sorted(package.hashes)],
    }
    if package.marker is not None:
        component["properties"] = [{"name": "pbdp:marker", "value": package.marker}]
    return component


def advisories(packages: list[Package], url: str = OSV) -> dict[str, list[str]]:
    """The advisories known for each package; an OSError if nobody can be asked."""
    asked = {"queries": [{"package": {"purl": package.purl}} for package in packages]}
    request = urllib.request.Request(  # noqa: S310  # the address is ours
        url, json.dumps(asked).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
        results = json.load(answer)["results"]
    if len(results) != len(packages):
        raise ValueError(f"{len(packages)} packages were asked for, and {len(results)} answered")
    return {
        package.purl: [one["id"] for one in result["vulns"]]
        for package, result in zip(packages, results, strict=True)
        if result.get("vulns")
    }


def main(words: list[str], url: str = OSV) -> int:
    packages = locked((ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if words[:1] == ["sbom"] and len(words) == 2:
        document = json.dumps(sbom(packages, project), indent=1)
        Path(words[1]).write_text(f"{document}\n", encoding="utf-8")
        print(f"{len(packages)} packages in {words[1]}")
        return 0
    if words != ["advisories"]:
        print(__doc__)
        return 2
    try:
        found = advisories(packages, url)
    except OSError as problem:
        print(f"No network? ({problem}) The {len(packages)} packages were NOT checked for advisories.")
        return 0
    scope = scopes(packages, project)
    for package in packages:
        for name in found.get(package.purl, ()):
            print(f"{package.name} {package.version} ({scope.get(package.name, 'excluded')}): {name}")
    print(f"{len(packages)} packages checked: {sum(map(len, found.values()))} advisories.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
