"""`pbdp release`: private numbers in, published numbers out."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pbdp.cli.files import STANDARD, WRITTEN, Outcome, checked_target, json_text, new_file
from pbdp.cli.options import (
    Target,
    add,
    add_budget,
    add_written,
    check_budget,
    paying_budget,
    paying_of,
    plan_in,
    target_of,
    typed_numbers,
)
from pbdp.cli.parser import Parser, share
from pbdp.cli.requests import request_of
from pbdp.columns.files import FORMATS
from pbdp.errors import ContradictionError, InputError, did_you_mean
from pbdp.paying import PayingFor, Payment

if TYPE_CHECKING:
    from pbdp.noise.kernel import Array, Index
    from pbdp.planning.plan import Part, Plan
    from pbdp.release.intervals import Intervals
    from pbdp.release.keystream import Keystream
    from pbdp.release.releaser import Prepared
    from pbdp.report.releases import Publication

THIS_CALL = "this call only"
# Intervals that are found between two words on how far it is.
BLOCK = 2048
EXAMPLES = """examples:
  pbdp release plan.json 1234
  pbdp release plan.json 1234 --interval 0.99 --json
  pbdp release plan.json --input counts.txt --disjoint -o published.csv
  pbdp release plan.json --input counts.csv --column visits --keep region --disjoint -o published.parquet
  pbdp release joint.json visits=1234 spend=55.2
  pbdp release vector.json 3 1 4 --json
  other-command | pbdp release plan.json --input - --disjoint > published.csv

Numbers that are typed can be seen by other users of the machine and stay in the shell's history;
--input keeps them out of both.
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Checking the plan")
    parser.description = "Publish private numbers with the noise of a plan."
    parser.epilog = EXAMPLES
    parser.private = True
    add(parser, "plan")
    parser.add_argument(
        "numbers",
        metavar="NUMBER",
        nargs="*",
        default=[],
        help="the true numbers (NAME=NUMBER if the plan has several parts), or --input",
    )
    answers = parser.add_argument_group("numbers in a file")
    add(answers, "--input", "--column")
    add(answers, "--input-format", choices=FORMATS)
    answers.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="NAME",
        help="also copy this column (may be repeated); IT IS PUBLISHED AS IT IS. Nothing else is copied",
    )
    releases = parser.add_argument_group("what counts as a release")
    releases.add_argument(
        "--disjoint", action="store_true", help="no person affects more than one of the numbers"
    )
    add(releases, "--neighbors")
    budget = parser.add_argument_group("budget")
    add_budget(budget, PayingFor)
    budget.add_argument(
        "--again", action="store_true", help="pay for the plan again when its releases are used up"
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "--interval",
        nargs="?",
        const="",
        metavar="CONFIDENCE",
        help="add an interval for the truth, at the plan's confidence or at this one",
    )
    add_written(output, WRITTEN)
    output.add_argument(
        "--manifest",
        metavar="FILE",
        help="write what was published, with its plan, as a file that others can check (JSON)",
    )
    add(output, "--json", help="print one JSON object about the whole release")
    add(output, "--insecure-test-seed")


def run(options: argparse.Namespace) -> Outcome:
    """Read and check everything, then draw, then write."""
    _check(options)
    target = target_of(options, WRITTEN, read=[options.input])
    manifest = None
    if options.manifest is not None:
        manifest = checked_target(
            options.manifest, options.force, [options.input, options.plan], what="--manifest"
        )
        if manifest == target.path:
            raise ContradictionError("--manifest", "another file than -o", options.manifest)

    plan = plan_in(options)
    _check_kept(plan, options.keep)

    from pbdp.columns.published import ready_columns, table_bytes

    answers, kept = _answers(plan, options)
    if kept:
        kept = ready_columns(kept, "json" if target.path is None and options.json else target.written)
    with target.opened() as file, _opened(manifest, options.force) as beside:
        publication = _published(plan, answers, kept, options)
        if file is not None:
            file.write(table_bytes(publication.table(target.written), target.written))
        if beside is not None:
            beside.write(publication.release_file(options.query).content())
    return Outcome(
        output=_output(publication, options, target),
        notes=_notes(publication, as_json=options.json),
        released=target.path is None,
    )


def _published(
    plan: Plan,
    answers: Sequence[Any],
    kept: dict[str, Any],
    options: argparse.Namespace,
) -> Publication:
    """Check that the plan covers so many numbers of each part, and draw for all of them or for none.

    The same as `plan.release`, but for the way back into the form of the answers, which text does not have.
    """
    import numpy as np

    from pbdp.report.releases import Publication, Published, paid_words

    seed = options.insecure_test_seed
    ready = [
        _prepared(part, own, disjoint=options.disjoint) for part, own in zip(plan.parts, answers, strict=True)
    ]
    counts = [len(own) for own in answers]
    options.progress.tell("drawing", sum(counts))
    # a vector, or the answers of all parts, are one release
    numbers = not plan.is_joint and plan.requirement.coordinates is None
    count = counts[0] if numbers else 1
    record: dict[str, Any] | None = None
    with paying_budget(options) as budget:
        if budget is None:
            enforced = THIS_CALL
            values: Array | Index = _drawn(ready, seed)
            note = None
        else:
            # paid for in the ledger before anything is drawn
            paid = budget.paid(
                plan,
                count,
                lambda: _drawn(ready, None),
                disjoint=options.disjoint,
                again=options.again,
                shape=counts if plan.is_joint else None,
                **paying_of(options, PayingFor),
            )
            enforced = f"ledger {budget.ledger.place}"
            values, note = paid.values, paid_words(budget, plan, paid)
            if options.manifest is not None:
                from pbdp.report.certificates.release_file import payment

                record = payment(paid.reservation, request_of(Payment, options).blocks)
    drawn = np.split(values.astype(np.float64, copy=False), np.cumsum(counts)[:-1])
    publication = Publication(
        plan=plan,
        parts=tuple(
            Published(part=part, values=own, intervals=_intervals(part, own, options))
            for part, own in zip(plan.parts, drawn, strict=True)
        ),
        enforced=enforced,
        note=note,
        kept=kept,
        disjoint=options.disjoint,
        alone=options.input is None and (plan.is_joint or (numbers and count == 1)),
        insecure_test_seed=seed,
        paid=record,
    )
    options.progress.tell("writing", sum(counts))
    return publication


def _prepared(part: Part, answers: Any, *, disjoint: bool) -> Prepared:
    """A part's answers, counted."""
    part.releaser.check_count(len(answers), disjoint)
    # one number may be larger than an array can hold
    alone = len(answers) == 1 and part.requirement.coordinates is None
    return part.releaser.prepared(answers[0] if alone else answers)


def _drawn(ready: Iterable[Prepared], seed: int | None) -> Array:
    """The numbers of all parts, one after the other; a test seed is another one for each part."""
    import numpy as np

    from pbdp.release.keystream import InsecureTestKeystream, SecureKeystream

    def keystream(index: int) -> Keystream:
        return SecureKeystream() if seed is None else InsecureTestKeystream(seed + index)

    return np.concatenate([part.draw(keystream(index)) for index, part in enumerate(ready)])


def _intervals(part: Part, published: Array, options: argparse.Namespace) -> Intervals | None:
    """The intervals of published numbers, if asked for; each different number is looked at once."""
    if options.interval is False:
        return None
    import numpy as np

    from pbdp.release.intervals import Intervals

    confidence = None if options.interval is True else options.interval
    values, where = np.unique(published, return_inverse=True)
    found = []
    for start in range(0, len(values), BLOCK):
        options.progress.tell("finding interval", start, len(values))
        found.append(part.releaser.intervals(values[start : start + BLOCK], confidence))
    return Intervals(
        low=np.concatenate([block.low for block in found])[where],
        high=np.concatenate([block.high for block in found])[where],
        confidence=found[0].confidence,
    )


def _notes(publication: Publication, *, as_json: bool) -> tuple[str, ...]:
    """What is said beside the numbers; an object has all of it but that a test seed protects nobody."""
    from pbdp.report.statement import statement
    from pbdp.report.text import as_text, warning_text

    said = statement(publication)
    if not as_json:
        return (as_text(said),)
    return tuple(warning_text(one, said) for one in said.warnings if one.code == "insecure")


def _opened(path: Path | None, force: bool) -> AbstractContextManager[BinaryIO | None]:
    """A file beside the numbers, if one was asked for."""
    return nullcontext() if path is None else new_file(path, force)


def _output(publication: Publication, options: argparse.Namespace, target: Target) -> str | bytes:
    """One object, one line on the file, the number alone (or those of parts, by name), or the table."""
    from pbdp.columns.published import table_bytes

    if options.json:
        return json_text("released", publication.record(written_to=options.output))
    if target.path is not None:
        return f"{publication.rows:,} published in {options.output}"
    if options.format is None and publication.alone:
        return publication.digits()
    return table_bytes(publication.table(target.written), target.written)


def _answers(plan: Plan, options: argparse.Namespace) -> tuple[list[Any], dict[str, Any]]:
    """The answers of each part, typed (behind their names) or in columns of a file; and what is kept."""
    names = [part.name for part in plan.parts]
    if options.input is None:
        if not plan.is_joint:
            return [typed_numbers(options.numbers)], {}
        given = _by_name(options.numbers, names)
        return [typed_numbers(given[name], name) for name in names], {}
    if not plan.is_joint:
        if options.keep and options.column is None:
            raise ContradictionError("--keep", "used with --column", "no --column")
        names = [options.column]
    elif options.column is not None or options.input == STANDARD:
        got = "--column" if options.column is not None else "standard input"
        rule = f"a file with the columns {', '.join(names)} for this plan"
        raise ContradictionError("--input", rule, got)
    from pbdp.cli.private_numbers import numbers_from

    file, progress = (options.input, options.input_format), options.progress
    first, kept = numbers_from(*file, names[0], options.keep, progress)
    return [first, *(numbers_from(*file, name, [], progress)[0] for name in names[1:])], kept


def _by_name(texts: list[str], names: list[str]) -> dict[str, list[str]]:
    """`NAME=NUMBER` for every part; what stands behind the name is never repeated."""
    given: dict[str, list[str]] = {name: [] for name in names}
    for text in texts:
        name, _, number = text.rpartition("=")
        if name not in given:
            wanted = " ".join(f"{known}=NUMBER" for known in names)
            near = did_you_mean(name, names) if name else ""
            raise InputError("numbers", f"given as {wanted} for this plan", "something else", near)
        given[name].append(number)
    if missing := [name for name in names if not given[name]]:
        raise InputError("numbers", "given for every part", f"none for {', '.join(missing)}")
    return given


def _check(options: argparse.Namespace) -> None:
    """Refuse options that do not belong together before anything is read."""
    options.interval = _interval(options.interval)
    check_budget(options, "--again")
    if bool(options.numbers) == (options.input is not None):
        got = "both" if options.numbers else "neither"
        raise ContradictionError("numbers", "typed, or in a file with --input", got)
    for name in ("column", "keep", "input_format"):
        if getattr(options, name) and options.input is None:
            raise ContradictionError(f"--{name.replace('_', '-')}", "used with --input", "typed numbers")
    options.keep = list(dict.fromkeys(options.keep))
    if options.column in options.keep:
        raise ContradictionError("--keep", "a public column", "the private one itself")


def _interval(given: str | None) -> bool | float:
    """What stands after --interval, or whether it is there. It is never repeated: it may be private."""
    if not given:
        return given is not None
    try:
        confidence = share(given)
    except argparse.ArgumentTypeError:
        confidence = -1.0
    if not 0 < confidence < 1:
        raise InputError(
            "--interval",
            "followed by a confidence between 0 and 1, such as 0.99 or 99%, or by nothing",
            "something else",
            "Put numbers before it.",
        )
    return confidence


def _check_kept(plan: Plan, keep: list[str]) -> None:
    """Columns that are kept must not be private, nor be called like one that is published."""
    if not keep:
        return
    from pbdp.report.releases import own_columns

    names = own_columns(plan)
    if taken := [name for name in keep if name in names]:
        raise InputError("--keep", f"none of {', '.join(names)}", taken[0], "Rename it first.")
