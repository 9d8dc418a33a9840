"""Every error that pbdp raises on purpose.

    PbdpError
    ├── InputError            a value the caller gave cannot be used (command line: exit code 2)
    │   ├── PlanFileError     a saved plan is broken, too new, or its certificate no longer holds
    │   └── ContradictionError two options that cannot hold together
    └── CannotCertifyError    the request is well formed, but no guarantee can be proved for it

An `InputError` carries the name of the parameter, the rule it broke, the value and what to do about it,
so that a caller can show them apart. No message ever holds a private answer.
"""

from __future__ import annotations


class PbdpError(Exception):
    """Root of every error that pbdp raises on purpose; `exit_code` is what the command line ends with."""

    exit_code = 2


class InputError(PbdpError):
    """`<name> must be <rule>; got <value>. <what to do>.`"""

    def __init__(self, name: str, rule: str, value: object, remedy: str = "") -> None:
        self.name = name
        self.rule = rule
        self.value = value
        self.remedy = remedy
        text = f"{name} must be {rule}; got {value}."
        super().__init__(f"{text} {remedy}" if remedy else text)


class PlanFileError(InputError):
    """A saved plan that cannot be trusted or read."""


class ContradictionError(InputError):
    """Options that exclude each other, or one that is missing beside another."""


class CannotCertifyError(PbdpError):
    """No guarantee can be proved for this request; the message says why and what would help."""
