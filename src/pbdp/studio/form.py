"""What was typed on the Explore page, read into the parameters of `pbdp.plan`.

Numbers come as they were typed, so that whoever writes 0,9 or 1,234 is told how to write it. Mistakes are all
told at once, each beside its field.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pbdp.cli.options import float_of
from pbdp.cli.parser import share
from pbdp.digits import plain
from pbdp.errors import InputError, PbdpError, did_you_mean, shown
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.relative import UNKNOWN, WidthText
from pbdp.planning.request import PlanRequest

Form = Mapping[str, Any]

SOLVED = ("epsilon", "confidence", "within")
KINDS = ("absolute", "relative", "range")
CHOICES: dict[str, tuple[str, ...]] = {"solve": SOLVED, "kind": KINDS, "neighbors": tuple(Neighbors)}
_HELP = {name: own.help for name, own in PlanRequest.settings().items()}
NUMBERS = {
    "within": "how far the published number may be from the truth; 5, say",
    "percent": "the relative part of the width, in per cent of the truth; 5, say",
    "plus": "what is added to the percentage; 10, say",
    "low": "the lower end of the range",
    "high": "the upper end of the range",
    **{name: _HELP[name] for name in ("scale", "confidence", "epsilon", "sensitivity", "delta")},
    **{name: _HELP[name] for name in ("releases", "step")},
    "answer": "a made-up true answer to look at; 1000, say",
}
TRUTHS = {name: _HELP[name] for name in ("integer", "nonnegative", "simultaneous")}
# Settings of plans that the page has in fields of its own, and those that it leaves to others.
LAID_OUT = {*CHOICES, *NUMBERS, *TRUTHS, "range"}
ELSEWHERE_ONLY = {"rdp_order", "families", "dimensions", "error_norm", "change_norm", "norm", "touches"}
# Work that is done while somebody waits; the command line has no such bounds.
MOST_STEPS = 100_000
MOST_RELEASES = 100_000
LONGEST_TEXT = 100
ELSEWHERE = "The studio answers while you wait; `pbdp plan` on the command line takes larger requests."
_WORDS = re.compile(r"\w+")


class FormError(PbdpError):
    """Several mistakes, each with the field that it is about."""

    def __init__(self, mistakes: Iterable[InputError]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__(" ".join(map(str, self.mistakes)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The parameters of `pbdp.plan`, those left out that have their usual values; which one is to be found.

    `answer` is a made-up true answer to look at.
    """

    solve: str
    kind: str
    parameters: dict[str, Any]
    answer: float | None = None


def more_fields() -> list[dict[str, Any]]:
    """Fields of all other settings of a plan, as they are declared."""
    return [one for one in PlanRequest.form() if one["name"] not in LAID_OUT | ELSEWHERE_ONLY]


def read_form(form: Form) -> Asked:
    """What is asked, checked as far as the form goes; the rest is the library's to refuse."""
    mistakes: list[InputError] = []
    more = {one["name"]: one for one in more_fields()}
    known = (*CHOICES, *NUMBERS, *TRUTHS, *more)
    for name in form:
        if name not in known:
            rule = f"among {', '.join(known)}"
            mistakes.append(InputError("names of fields", rule, shown(name), did_you_mean(name, known)))
    chosen = {name: _choice(form, name, mistakes) for name in CHOICES}
    numbers = {name: _number(form, name, mistakes) for name in NUMBERS}
    truths = {name: _truth(form, name, mistakes) for name in TRUTHS}
    others = {name: value for name in more if (value := _setting(form, name, mistakes)) is not None}
    _check_given(chosen, numbers, mistakes)
    if mistakes:
        raise FormError(mistakes)
    solve, kind = chosen["solve"], chosen["kind"]
    parameters = {
        **_width(solve, kind, numbers),
        **{name: numbers[name] for name in ("confidence", "epsilon") if name != solve},
        **{name: numbers[name] for name in ("sensitivity", "delta")},
        "releases": _whole(numbers["releases"]),
        "step": numbers["step"],
        **{name: value for name, value in truths.items() if value},
        "neighbors": chosen["neighbors"],
        **others,
    }
    usual = {"releases": 1, "neighbors": Neighbors.ADD_REMOVE}
    usual |= {name: one["default"] for name, one in more.items()}
    if kind != "relative":
        parameters.pop("nonnegative", None)
    kept = {
        name: value for name, value in parameters.items() if value is not None and value != usual.get(name)
    }
    _check_work(kept)
    return Asked(solve=solve, kind=kind, parameters=kept, answer=_whole(numbers["answer"]))


def _width(solve: str, kind: str, numbers: Mapping[str, float | None]) -> dict[str, Any]:
    """Width, range and scale; of a width that is to be found, the part that is known."""
    within = None if solve == "within" else numbers["within"]
    if kind == "absolute":
        return {"within": within}
    if kind == "range":
        ends = (numbers["low"], numbers["high"])
        scale = numbers["scale"] if solve != "within" and within is None else None
        return {"within": within, "range": ends, "scale": scale}
    parts = (numbers["percent"], numbers["plus"])
    percent, plus = (UNKNOWN if part is None else plain(part) for part in parts)
    if solve == "within" and UNKNOWN not in (percent, plus):
        plus = UNKNOWN
    return {"within": str(WidthText(percent=percent, plus=plus))}


def _check_given(
    chosen: Mapping[str, str], numbers: Mapping[str, float | None], mistakes: list[InputError]
) -> None:
    """Everything that is needed is there; what cannot be read counts as there."""
    solve, kind = chosen["solve"], chosen["kind"]
    needed = ["sensitivity", "delta", *(name for name in ("confidence", "epsilon") if name != solve)]
    if kind == "range":
        needed += ["low", "high"]
        if solve != "within" and numbers["scale"] is None:
            needed.append("within")
    elif solve != "within":
        needed += ["within"] if kind == "absolute" else ["percent", "plus"]
    elif kind == "relative" and numbers["percent"] is None:
        needed.append("plus")
    told = {mistake.name for mistake in mistakes}
    mistakes += [
        InputError(name, "given", "nothing", f"It is {NUMBERS[name]}.")
        for name in needed
        if numbers[name] is None and name not in told
    ]


def _choice(form: Form, name: str, mistakes: list[InputError]) -> str:
    choices = CHOICES[name]
    given = form.get(name, choices[0])
    if isinstance(given, str) and given in choices:
        return given
    mistakes.append(InputError(name, " or ".join(choices), shown(given)))
    return choices[0]


def _truth(form: Form, name: str, mistakes: list[InputError]) -> bool:
    given = form.get(name, False)
    if not isinstance(given, bool):
        mistakes.append(InputError(name, "true or false", shown(given)))
        return False
    return given


def _setting(form: Form, name: str, mistakes: list[InputError]) -> Any:
    """A setting as its declaration reads it; None if nothing was typed."""
    own, given = PlanRequest.settings()[name], form.get(name)
    try:
        if isinstance(given, str):
            given = own.typed(name, given[: LONGEST_TEXT + 1]) if given.strip() else None
        return None if given is None else own.checked(name, given)
    except InputError as mistake:
        mistakes.append(mistake)
        return None


def _number(form: Form, name: str, mistakes: list[InputError]) -> float | None:
    """A number as it was typed; None if nothing was, or nothing that can be read."""
    try:
        return number_typed(name, form.get(name))
    except InputError as mistake:
        # somebody may have typed a true one
        told = InputError(name, mistake.rule, "something else") if name == "answer" else mistake
        mistakes.append(told)
        return None


def number_typed(name: str, given: object) -> float | None:
    """A number as it was typed; None if nothing was."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise InputError(name, "a number", type(given).__name__)
    text = given.strip() if isinstance(given, str) else repr(given)
    if len(text) > LONGEST_TEXT:
        raise InputError(name, f"a number of at most {LONGEST_TEXT} characters", f"{len(text):,}")
    if not text:
        return None
    if name.startswith("confidence") and text.endswith("%"):
        try:
            return share(text)
        except argparse.ArgumentTypeError:
            raise InputError(name, "0.9 or 90%, say", shown(text)) from None
    return float_of(name, text)


def _whole(number: float | None) -> float | int | None:
    return int(number) if number is not None and number.is_integer() and abs(number) < 2**53 else number


def _check_work(parameters: Mapping[str, Any]) -> None:
    """Refuse what would keep somebody waiting for long, by the number of steps of the grid."""
    sizes = {"sensitivity": parameters["sensitivity"]}
    within = parameters.get("within")
    if isinstance(within, float):
        sizes["within"] = within
    elif isinstance(within, str) and not within.endswith("?"):
        sizes["plus"] = float(within.partition("+")[2])
    if (ends := parameters.get("range")) is not None:
        sizes["high"] = ends[1] - ends[0]
        sizes["scale"] = parameters.get("scale", 0.0)
    # the rest is refused by the library, each for its own reason
    sizes = {name: size for name, size in sizes.items() if size > 0}
    step = parameters.get("step") or (1.0 if parameters.get("integer") else min(sizes.values(), default=1.0))
    for name, size in sizes.items():
        if step > 0 and not size / step <= MOST_STEPS:
            raise InputError(
                name,
                f"at most {MOST_STEPS:,} steps of {step:g} here",
                f"{size / step:,.0f} steps" if size / step < 1e18 else "many more",
                ELSEWHERE,
            )
    if parameters.get("releases", 1) > MOST_RELEASES:
        raise InputError("releases", f"at most {MOST_RELEASES:,} here", parameters["releases"], ELSEWHERE)


# ------------------------------------------------------------------------------------------ whose mistake


def mistakes_of(error: PbdpError, form: Form) -> list[dict[str, str | None]]:
    """What is wrong, with the field of the form that each mistake belongs to, if there is one."""
    if isinstance(error, FormError):
        return [mistake for one in error.mistakes for mistake in mistakes_of(one, form)]
    return [{"field": _field(error, form), "message": str(error)}]


def _field(error: PbdpError, form: Form) -> str | None:
    if not isinstance(error, InputError):
        return None
    words: list[str] = _WORDS.findall(error.name)
    for word in words:
        if word == "range":
            return "low"
        if word == "within" and form.get("kind") == "relative":
            return "percent" if error.rule.startswith(("a percentage above", "a percentage of")) else "plus"
        if word in form or word in NUMBERS or word in TRUTHS or word in CHOICES:
            return word
    return None
