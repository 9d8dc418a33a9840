"""What a plan costs on a dataset with a privacy budget, in whole numbers that a ledger can keep.

    terms = Terms(epsilon=3, delta=1e-6)
    price(terms, ((plan, 1),)).describe()
    compose_plans([(plan, 10), (other, 3)]).epsilon_at(1e-6)

One rule serves every budget (`accounting.filters`): plans may be chosen as you go, in packages or
one by one. The cost of a plan depends on what is left.
"""

from __future__ import annotations

from pbdp.planning.pricing.priced import Claim, Measured, Priced, fingerprint
from pbdp.planning.pricing.terms import Amounts, Plans, Price, Terms, price

__all__ = ["Amounts", "Claim", "Measured", "Plans", "Price", "Priced", "Terms", "fingerprint", "price"]
