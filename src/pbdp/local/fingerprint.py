"""The part of a configuration that clients and server must share, and its fingerprint."""

from __future__ import annotations

from typing import Any

from pbdp.canonical import digest
from pbdp.errors import InputError
from pbdp.local.domain import CategoryDomain, Domain, ScaleDomain

FORMAT = "pbdp-local"
VERSION = 1


def domain_record(domain: Domain) -> dict[str, Any]:
    """A domain as JSON; the order of the values numbers them from 0."""
    match domain:
        case CategoryDomain():
            return {
                "values": list(domain.values),
                "categories": {"sizes": list(domain.sizes), "names": list(domain.names)},
            }
        case ScaleDomain():
            return {
                "values": list(domain.values),
                "scale": {"width": domain.width, "ring": domain.ring},
            }
    raise InputError("domain", "categories or a scale", type(domain).__name__)


def shared_record(domain: Domain, kind: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Everything that a report depends on."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "mechanism": kind,
        "domain": domain_record(domain),
        "parameters": parameters,
    }


def fingerprint_of(domain: Domain, kind: str, parameters: dict[str, Any]) -> str:
    """The first 16 hexadecimal digits of SHA-256 of the shared record: ASCII JSON, sorted keys, no spaces."""
    return digest(shared_record(domain, kind, parameters))[:16]
