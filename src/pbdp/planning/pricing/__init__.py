"""What a plan costs on a dataset with a privacy budget, in whole numbers that a ledger can add up.

A dataset has a rule, chosen when its budget is made: `renyi` and `sum` for spending chosen as one goes,
`batch` for plans fixed in advance. The rule has limits and gives every plan a cost; whoever keeps the sum of
the costs within the limits has promised the rule's (epsilon, delta).

    rule = make_rule("renyi", epsilon=3, delta=1e-6)
    rule.limits(), rule.cost(plan), rule.describe(), rule.record()
    price(rule, plan, spent).describe()
    batch_rule.compose_plans([(plan, 10), (other, 3)]).epsilon_at(1e-6)
"""

from __future__ import annotations

from pbdp.planning.pricing.price import Price, price
from pbdp.planning.pricing.priced import Claim, Priced, fingerprint
from pbdp.planning.pricing.rule import Amounts, Rule, make_rule, rule_from_record

__all__ = [
    "Amounts",
    "Claim",
    "Price",
    "Priced",
    "Rule",
    "fingerprint",
    "make_rule",
    "price",
    "rule_from_record",
]
