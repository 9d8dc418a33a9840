"""`pbdp ledger key`: the secret that a ledger's records are under; export, import, rotate or replace it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from pbdp.cli.files import Outcome, checked_target, json_text, lines_in, new_file
from pbdp.cli.options import add
from pbdp.json_records import NotJsonError, content_of, json_of, kind_of

Part = Callable[[Any, str, Any, str], argparse.ArgumentParser]
Place = Callable[[argparse.Namespace], str]


def declare_keys(parts: Any, part: Part, place: Place) -> None:
    """The parts of the command; `part` declares one as `pbdp ledger` does, `place` says where a ledger is."""
    words = "the secret key that a ledger's records are under"
    key = parts.add_parser("key", help=words, description=f"{words[0].upper()}{words[1:]}.")
    changes = key.add_subparsers(dest="change", metavar="CHANGE", required=True)

    export = part(
        changes, "export", _exported, "write this machine's keys of the ledger to a file, for another machine"
    )
    add(export, "--output", required=True, help="a new file; keep it secret")

    take = part(changes, "import", _imported, "keep the keys that another machine exported")
    take.add_argument("file", metavar="FILE", help="what `pbdp ledger key export` wrote")

    part(changes, "rotate", _rotated, "put the records from now on under a new key")

    replace = part(changes, "replace", _replaced, "put a new key in the place of one that is lost everywhere")
    replace.add_argument(
        "--from",
        dest="export",
        metavar="EXPORT",
        required=True,
        help="the newest export of the ledger that was kept elsewhere; the ledger must continue it",
    )
    for declared in (export, take, replace, changes.choices["rotate"]):
        declared.set_defaults(place=place)


def _exported(options: argparse.Namespace) -> Outcome:
    from pbdp.ledger import Ledger

    with Ledger.open(options.place(options)) as ledger:
        keys = ledger.exported_keys()
    target = checked_target(options.output, False, remedy="Choose another name: keys are never replaced.")
    with new_file(target, False) as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(f"{keys}\n".encode())
    return _told(
        options,
        "export",
        {"written_to": options.output},
        f"The ledger's keys are in {options.output}. Who has them can write to the ledger: move the file to "
        "the other machine, import it there, and delete it, or keep it in a safe.",
    )


def _imported(options: argparse.Namespace) -> Outcome:
    from pbdp.errors import InputError
    from pbdp.ledger import Ledger

    content = content_of("key file", options.file)
    try:
        exported = json_of(content)
    except NotJsonError:
        raise InputError("key file", "what `pbdp ledger key export` writes", kind_of(content)) from None
    with Ledger.open(options.place(options)) as ledger:
        kept = ledger.take_keys(exported)
    return _told(
        options, "import", {"keys": kept}, f"This machine now has the ledger's keys {', '.join(kept)}."
    )


def _rotated(options: argparse.Namespace) -> Outcome:
    from pbdp.ledger import Ledger

    with Ledger.open(options.place(options)) as ledger:
        new = ledger.rotate_key()
    return _told(
        options,
        "rotate",
        {"key": new},
        f"The ledger goes on under the key {new}. Other machines can only read it until they have the key: "
        "pbdp ledger key export here, pbdp ledger key import there.",
    )


def _replaced(options: argparse.Namespace) -> Outcome:
    from pbdp.ledger import Ledger

    with Ledger.replace_key(options.place(options), lines_in("export", options.export)) as ledger:
        outcome = _told(
            options,
            "replace",
            {"ledger": ledger.place},
            f"The ledger {ledger.place} goes on under a new key. Of the records before it, hashes are "
            "checked, but no MACs. Look through those that came after the export: pbdp ledger history.",
        )
        return Outcome(output=outcome.output, notes=ledger.notes)


def _told(options: argparse.Namespace, change: str, record: dict[str, object], words: str) -> Outcome:
    return Outcome(output=json_text("ledger-key", {"change": change} | record) if options.json else words)
