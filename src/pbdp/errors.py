"""Every error that pbdp raises on purpose.

    PbdpError
    ├── InputError            a value the caller gave cannot be used (command line: exit code 2)
    │   ├── PlanFileError     a saved plan is broken, too new, or its certificate no longer holds
    │   └── ContradictionError two options that cannot hold together
    └── CannotCertifyError    the request is well formed, but no guarantee can be proved for it

An `InputError` carries the name of the parameter, the rule it broke, the value and what to do about it,
so that a caller can show them apart. No message ever holds a private answer, nor a password: whatever looks
like one in the place of a database is left out.
"""

from __future__ import annotations

import re

# Everything up to the last @, and up to the last quote: a password may hold any sign where it is not
# written as it should be.
_USER = re.compile(
    r"\b(postgres(?:ql)?:/*)[^@]*?:.*@|\b([a-z][a-z0-9+.-]*://)[^\s@]*:\S*@|(?<![^\s'\"])((?://)?)[^\s/:@'\"]+:[^\s@]+@",
    re.DOTALL | re.IGNORECASE,
)
_PASSWORD = re.compile(r"(password\s*(?:=|%3d)\s*)(?:'.*'|[^\s&]+)", re.DOTALL | re.IGNORECASE)


def without_passwords(text: str) -> str:
    """The text with what looks like a user and a password, or a password, taken out."""
    named = _USER.sub(lambda found: "".join(part or "" for part in found.groups()) + "***@", text)
    return _PASSWORD.sub(r"\1***", named)


class PbdpError(Exception):
    """Root of every error that pbdp raises on purpose; `exit_code` is what the command line ends with."""

    exit_code = 2


class InputError(PbdpError):
    """`<name> must be <rule>; got <value>. <what to do>.`"""

    def __init__(self, name: str, rule: str, value: object, remedy: str = "") -> None:
        self.name = without_passwords(name)
        self.rule = rule
        self.value = without_passwords(value) if isinstance(value, str) else value
        self.remedy = without_passwords(remedy)
        try:
            got = without_passwords(f"{value}")
        except ValueError:  # Python writes out no whole number that is longer
            got = "a number of thousands of digits"
        text = f"{self.name} must be {rule}; got {got}."
        super().__init__(f"{text} {self.remedy}" if remedy else text)


class PlanFileError(InputError):
    """A saved plan that cannot be trusted or read."""


class ContradictionError(InputError):
    """Options that exclude each other, or one that is missing beside another."""


class CannotCertifyError(PbdpError):
    """No guarantee can be proved for this request; the message says why and what would help."""
