"""Checking published tables: every claim of a manifest is computed again, from what it names.

manifest         the claims one by one: certificate, bounds, selection, signature, payment
plan             the plan that a manifest describes, made again: one table, several, the top groups
published_file   the table itself: its keys, and its numbers as far as they follow from each other
"""

from pbdp.tables.verify.manifest import VerifiedTable, read_manifest, verified_plan, verify_manifest

__all__ = ["VerifiedTable", "read_manifest", "verified_plan", "verify_manifest"]
