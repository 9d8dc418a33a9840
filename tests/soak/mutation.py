"""One small change at a time to code that guarantees rest on; some test must notice it.

    PYTHONPATH=src:. python tests/soak/mutation.py [changes] [seed] [module ...]

Tests are collected once, and each is run once to learn which lines it runs and how long it takes. Then, for
each change, a fork of that process runs the tests that run its lines, those of the module's folder first and
the quickest first, until one fails. Changes of what is run on import are tried in a process that imports the
module changed, with the tests of its folder.

Prints each change that no test noticed when it is found, then how many were: a change that makes no
difference (a wider search, a larger buffer) survives rightly, any other one is a test that is missing.
"""

from __future__ import annotations

import functools
import gc
import importlib
import importlib.abc
import importlib.util
import inspect
import marshal
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.soak.changes import ROOT, Change, changes, path_of

# Modules of src/pbdp that guarantees rest on.
TARGETS = (
    "accounting/exact/accountant",
    "accounting/exact/all_neighbors",
    "accounting/exact/divergences",
    "accounting/exact/pairs",
    "accounting/exact/pieces",
    "accounting/exact/tables",
    "accounting/composition/composed",
    "accounting/composition/convolution",
    "accounting/composition/loss_distribution",
    "accounting/composition/loss_law",
    "accounting/composition/tilting",
    "accounting/composition/truncation",
    "accounting/filters/package",
    "accounting/filters/rule",
    "accounting/filters/steps",
    "planning/pricing/choice",
    "planning/pricing/priced",
    "planning/pricing/terms",
    "mechanism/weights",
    "mechanism/grid",
    "mechanism/log_grid",
    "mechanism/reweighted",
    "release/combination",
    "release/intervals",
    "release/keystream",
    "release/law",
    "release/publisher",
    "release/releaser",
    "release/sampler",
    "planning/certificate",
    "planning/limit/linear_program",
    "ledger/fold",
    "ledger/repair",
    "ledger/keys",
    "ledger/request",
    "ledger/verification",
    "mechanism/fixed_point",
)
# The tests that may notice: of those beside a module, in a folder that takes long, its own.
TESTS = (
    "accounting",
    "mechanism",
    "release",
    "ledger/test_repair.py",
    "ledger/test_verification_of_forgeries.py",
    "ledger/test_keys.py",
    "ledger/test_request.py",
    "ledger/test_verification.py",
    "planning/limit/test_linear_program.py",
    "planning/test_choice.py",
    "planning/test_pricing.py",
    "planning/test_store.py",
    "planning/together/test_pricing.py",
    "tables/test_fixed_point.py",
)
# How long the tests of one change may take, by how long they took when it was learned what they run; after
# how many seconds one is ended, as one that never ends is noticed; what it may use of the memory.
SECONDS = 30.0
PATIENCE = 300
MEMORY = 6 << 30
# What takes long to import.
SHARED = ("mpmath", "numpy", "scipy.optimize", "scipy.special", "scipy.stats")
OPTIONS = ("-x", "-q", "-s", "--tb=no", "--assert=plain", "-p", "no:cacheprovider", "--rootdir", str(ROOT))
# How often it is told how many were noticed.
EVERY = 50


def in_fork(work: Callable[[], bool], patience: int = PATIENCE) -> bool:
    """What `work` says in a process of its own, which is silent; True if it had to be ended."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] != 0
    signal.alarm(patience)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    code = True
    try:
        code = work()
    finally:
        os._exit(code)


@dataclass(frozen=True, slots=True)
class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the changed module instead of the one on disk."""

    change: Change

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        del path, target
        if fullname != f"pbdp.{self.change.module.replace('/', '.')}":
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.change.tree(), str(self.change.path), "exec"), module.__dict__)  # noqa: S102


def is_noticed_on_import(change: Change) -> bool:
    """Whether a test beside the module fails where it is imported with the change."""
    beside = f"{folder_of(change)}/"
    tests = [str(ROOT / "tests" / name) for name in TESTS if f"{name}/".startswith(beside)]

    def fails() -> bool:
        sys.meta_path.insert(0, _Changed(change))
        return pytest.main([*OPTIONS, *tests]) != 0

    return in_fork(fails)


def folder_of(change: Change) -> str:
    """The first folder of a module: its tests are in the one of the same name."""
    return change.module.split("/", maxsplit=1)[0]


@dataclass(eq=False)
class Session:
    """A session of pytest that tries changes instead of running its tests."""

    modules: Sequence[str]
    drawn: Sequence[Change]
    tell: Callable[[Change, bool], None]
    failed: bool = False
    items: list[pytest.Item] = field(default_factory=list)
    # How long each test takes, and which of them run a line of a module.
    seconds: list[float] = field(default_factory=list)
    ran: dict[tuple[str, int], set[int]] = field(default_factory=dict)
    caches: list[Any] = field(default_factory=list)
    functions: dict[tuple[str, str, int], list[FunctionType]] = field(default_factory=dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a failure."""
        self.failed = self.failed or report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try every change."""
        self.items = session.items
        self._find()
        self._learn()
        for change in self.drawn:
            self.tell(change, self._is_noticed(change))
        return True

    def _find(self) -> None:
        """The functions of the modules, and what remembers results."""
        files = {str(path_of(module)) for module in self.modules}
        gc.unfreeze()
        for found in gc.get_objects():
            if isinstance(found, functools._lru_cache_wrapper):
                self.caches.append(found)
            elif isinstance(found, FunctionType) and found.__code__.co_filename in files:
                self.functions.setdefault(_key(found.__code__), []).append(found)
        gc.freeze()

    def _fails(self, item: pytest.Item) -> bool:
        """Whether a test fails by itself: with its own fixtures, and with nothing remembered."""
        self.failed = False
        for cache in self.caches:
            cache.cache_clear()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return self.failed

    def _learn(self) -> None:
        """Run each test once, in a fork that tells which lines of the modules it ran and for how long."""
        names = {str(path_of(module)): module for module in self.modules}
        lines: set[tuple[str, int]] = set()

        def trace(frame: FrameType, _event: str, _argument: object) -> Callable[..., Any] | None:
            module = names.get(frame.f_code.co_filename)
            if module is None:
                return None
            lines.add((module, frame.f_lineno))
            return trace

        with tempfile.TemporaryFile() as told:

            def run() -> bool:
                for item in self.items:
                    lines.clear()
                    start = time.process_time()
                    sys.settrace(trace)
                    failed = self._fails(item)
                    sys.settrace(None)
                    marshal.dump((failed, time.process_time() - start, list(lines)), told)
                told.flush()
                return False

            if in_fork(run, patience=0):
                raise SystemExit("The tests could not be run.")
            told.seek(0)
            for number, item in enumerate(self.items):
                failed, seconds, ran = marshal.load(told)  # noqa: S302
                self.seconds.append(seconds)
                if failed:
                    print(f"fails unchanged    {item.nodeid}", flush=True)
                    continue
                for line in ran:
                    self.ran.setdefault(line, set()).add(number)

    def _is_noticed(self, change: Change) -> bool:
        """Whether a test that runs its lines fails with it, or does not end in time."""
        lines = range(change.first, change.last + 1)
        numbers = {number for line in lines for number in self.ran.get((change.module, line), ())}
        beside = ROOT / "tests" / folder_of(change)

        def order(number: int) -> tuple[bool, float]:
            return beside not in self.items[number].path.parents, self.seconds[number]

        def fails() -> bool:
            self._apply(change)
            left = SECONDS
            for number in sorted(numbers, key=order):
                left -= self.seconds[number]
                if left < 0:
                    return False
                if self._fails(self.items[number]):
                    return True
            return False

        return in_fork(fails)

    def _apply(self, change: Change) -> None:
        """Give every function of the module its changed code."""
        for code in _functions(compile(change.tree(), str(change.path), "exec")):
            for function in self.functions.get(_key(code), []):
                function.__code__ = code


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _functions(code: CodeType) -> Iterator[CodeType]:
    """Code of the functions of a module and of its classes; what is inside of them is part of it."""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            if part.co_flags & inspect.CO_NEWLOCALS:
                yield part
            else:
                yield from _functions(part)


def main(wanted: int, seed: int, modules: Sequence[str]) -> None:
    """Print what became of so many changes, drawn from all of them."""
    settings.register_profile(
        "once",
        phases=[Phase.explicit, Phase.generate],
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("once")
    for name in SHARED:
        importlib.import_module(name)
    every = [change for module in modules for change in changes(module)]
    drawn = random.Random(seed).sample(every, min(wanted, len(every)))
    noticed: list[bool] = []

    def tell(change: Change, was_noticed: bool) -> None:
        noticed.append(was_noticed)
        if not was_noticed:
            print(f"survived           {change.describe()}", flush=True)
        if len(noticed) % EVERY == 0 or len(noticed) == len(drawn):
            told = f"{sum(noticed):,} noticed of {len(noticed):,}; {len(every):,} in {len(modules)} modules"
            print(f"changes            {told}", flush=True)

    for change in drawn:
        if not change.in_function:
            tell(change, is_noticed_on_import(change))
    session = Session(modules, [change for change in drawn if change.in_function], tell)
    pytest.main([*OPTIONS, *(str(ROOT / "tests" / name) for name in TESTS)], plugins=[session])


if __name__ == "__main__":
    wanted, seed, *modules = [*sys.argv[1:], *("1000", "0")[len(sys.argv) - 1 :]]
    main(int(float(wanted)), int(seed), modules or TARGETS)
