"""What became of the claims of a file: the verdict, what it is about, and every check."""

from __future__ import annotations

from pbdp.report.plans import loss_facts
from pbdp.report.statement import Caution, Fact, Rows, Statement, literal, statement
from pbdp.report.warnings import UNSIGNED
from pbdp.verification import SIGNED, Verified

VERDICTS = {True: "holds", False: "DOES NOT HOLD", None: "not checked"}
# With which option what is missing is given.
OPTIONS = {"ledger": "--ledger", SIGNED: "--signed-by"}


@statement.register
def verified_statement(found: Verified, **_: bool) -> Statement:
    """The verdict first; a file that nobody signed is never called sound."""
    facts = [Fact(name="verdict", label="Verdict", value=found.verdict)]
    loss = ""
    if found.epsilon is not None and found.delta is not None:
        facts += loss_facts(found.epsilon, found.delta, None)
        loss = ": epsilon {epsilon} at {at}"
    headline = {
        "not sound": "NOT SOUND: do not rely on this file.",
        "incomplete": f"INCOMPLETE: no errors found, but not all was checked ({_missing(found)}).",
        "unsigned": f"No errors found{loss}.",
        "sound": f"Sound{loss}.",
    }[found.verdict]
    return Statement(
        kind="verification",
        headline=headline,
        sentences=(literal(found.means),) if found.verdict in ("sound", "unsigned") and found.means else (),
        facts=tuple(facts),
        warnings=_warnings(found),
        rows=(
            Rows(
                columns=(
                    Fact(name="verdict", label="", value=""),
                    Fact(name="check", label="", value=""),
                    Fact(name="words", label="", value=""),
                ),
                values=tuple((VERDICTS[check.holds], check.name, check.words) for check in found.checks),
            ),
        ),
    )


def _missing(found: Verified) -> str:
    """What was not checked, and what to name for it."""
    return ", ".join(f"{name}: pass {OPTIONS.get(name, '--table')}" for name in found.missing)


def _warnings(found: Verified) -> tuple[Caution, ...]:
    signature = [check for check in found.checks if check.name == SIGNED]
    unsigned = any(check.holds is None and not check.missing for check in signature)
    return (UNSIGNED,) if unsigned else ()
