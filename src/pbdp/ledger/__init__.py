"""A ledger: what each dataset has spent, what the next release costs, and the answers that were released.

**The protocol of one release**

1. `Ledger.reserve`: one durable transaction, under the store's write lock from its start. It checks that
   the store holds the last record that was known of it, looks the request key up, checks the limits,
   appends a `spend` record and commits. Then the witness is told.
2. The caller draws the noise.
3. `Ledger.settle`: one durable transaction that appends an `answer` record, unless there is one already;
   then the witness is told, and the stored bytes are returned. Only these may leave the program.

`Ledger.release` does the three in order. The store promises (`stores.interface`): one writer at a time
(P1), who sees everything committed before (P2); a transaction is kept whole and durably, or not at all
(P3); records are never changed (P4).

**What holds, and why**

*Paid first.* `reserve` returns after its commit, so by P3 the spend is on stable storage before noise is
drawn, and whatever dies later cannot take it back. If the commit itself fails, an error is raised and no
noise is drawn: the spend may stand without an answer, never the reverse.

*Exact.* Limits, costs and totals are Python integers in JSON; a spend fits if and only if `spent + cost <=
limit` for every name. No float and no tolerance is involved (`charge`).

*At the price of its state.* A price may depend on what is spent already. It is found outside the lock, for a
state that was read, and paid under the lock only if the dataset's totals are still those (`_held`); after a
few others came first it is found under the lock. So every spend was priced for the very totals it follows.

*Never overspent, whoever races.* Claim: after every committed record, each dataset's total is the sum of
the costs of its records and within its limits. It holds for the first record, which spends nothing. A
spend reads the last total under the lock; by P1 and P2 no other spend can come between that read and the
commit, so its own total is that sum plus its cost, and `charge` has compared it with the limits. The same
argument, for the numbers `bought` and `used` of a plan, shows that k paid packages of T never serve more
than kT releases. (A recovery may count more than the limit; it releases nothing.)

*One key, one answer.* Under the lock a key is looked up before a spend is made, so by P1 and P2 there is
at most one spend of a key; likewise at most one answer to a spend. (Unique indexes say the same.) Every
caller gets the bytes of that answer: the first to settle its own, which it has just stored; all others the
stored ones. Noise that a slower process drew for the same key is dropped. A retry with another plan,
dataset, query, number of values or disjointness has another fingerprint and is refused.

*Nothing is told by refusals or records.* Everything in a spend and in its fingerprint is known before the
true answer is read; an answer record holds the released bytes, their length and digest. So a refusal or a
record depends on the data through released numbers only.

*Any crash.* By P3 a crash leaves whole records only. It can fall (a) before the spend's commit: nothing
happened; (b) after it, before the answer's: paid, and nothing has left, so a retry with the same key may
draw noise and settle now; (c) after the answer's commit: paid and stored, and a retry returns the stored
bytes. What has left the program is in case (c), hence paid and stored.

*Tampering.* Each record's hash covers its place, its content and the hash before it, so by the collision
resistance of SHA-256 a change, removal or exchange of records breaks the chain at the first of them or
right after it, unless everything behind is written anew, and then the head differs from the one the witness
knows. `Ledger.verify` walks through it all and computes totals, packages and keys again. Who has the
ledger, its key and the witness can forge all of it: an `export` kept elsewhere shows that
(`verify(against=)`).

*No forged total is spent from.* Every record carries a MAC of its hash, under a key that is not where the
ledger is (`keys`). Claim: what a spend depends on was written by a holder of a key that this machine holds,
or of a lost one before it was replaced, and adds up. (a) Every record that a writing transaction looks up
has its MAC checked; as long as HMAC-SHA-256 is unforgeable, no other record passes. One whose key is not
here stops the transaction, but for those of a lost key up to the record that replaced it: these were walked
through and held against an export then, and nobody who can only append can write there, as a number is
given once. (b) Under the lock, before anything else, the records from the last head that this process or
the witness knows up to the store's head are walked through (`Guard.write`): numbers, hashes, MACs, under
which key they may stand, totals that add up and so never fall, limits, packages. Opening does the same. The
witness is told of a head only after such a walk, so by induction everything up to its head was walked
through or written here. A ledger without a witness that is taken on trust is walked through from its first
record. So one INSERT by somebody without the key is noticed by the next opening and the next spend, and
gives nothing. A MAC does not tell an old state from the newest one; the next paragraph does.

*Taken back.* Whatever left the program was told to this machine's witness before, with its cost (steps 1
and 3 end with it; a retry that finds an answer tells it too). The witness only moves forward, and is
written after the store. So a store that does not hold the witness's head was taken back to an older state,
and it is refused until `Ledger.recover` has counted the gap (`guard`). A machine that has no witness cannot
know; it spends nothing unless it is told to trust the ledger, and says so with every spend. The same holds
where a lost key was replaced on a machine without a witness: the export says that nothing before it is
missing, and only a witness what came after.

*As fast at the end as at the start.* Each spend carries the running totals, and each look-up is one step
in an index, so that the cost of a release does not grow with the number of releases before it, but for the
depth of the index.
"""

from __future__ import annotations

from pbdp.ledger.errors import BudgetExceededError, LedgerError, RolledBackError
from pbdp.ledger.export import verify_export
from pbdp.ledger.ledger import Ledger, verify_ledger
from pbdp.ledger.record import Entry
from pbdp.ledger.request import Purchase, Request, Reservation
from pbdp.ledger.snapshot import DatasetState
from pbdp.ledger.verification import Verification

__all__ = [
    "BudgetExceededError",
    "DatasetState",
    "Entry",
    "Ledger",
    "LedgerError",
    "Purchase",
    "Request",
    "Reservation",
    "RolledBackError",
    "Verification",
    "verify_export",
    "verify_ledger",
]
