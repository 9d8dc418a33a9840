"""The sum filter on laws small enough to be counted out, and the claims that stand for unknown mechanisms."""

from __future__ import annotations

import numpy as np
import pytest

from pbdp.accounting.filters.sum_filter import SumFilter
from pbdp.errors import InputError
from tests.accounting.filters.brute import History, Pair, delta_at, response, transcripts


@pytest.mark.parametrize("seed", range(8))
def test_epsilons_and_deltas_add_up_on_every_path(seed: int) -> None:
    rng = np.random.default_rng(seed)
    book = SumFilter(epsilon=2.0, delta=0.1)
    options = [(0.9, 0.01), (0.4, 0.05), (0.25, 0.0), (1.1, 0.03)]
    choices: dict[History, tuple[float, float]] = {}

    def strategy(history: History) -> Pair | None:
        used = [book.cost(*choices[history[:i]]) for i in range(len(history))]
        fitting = [
            option
            for option in options
            if all(
                sum(cost[name] for cost in (*used, book.cost(*option))) <= limit
                for name, limit in book.limits().items()
            )
        ]
        if len(history) == 5 or not fitting:
            return None
        choices.setdefault(history, fitting[int(rng.integers(len(fitting)))])
        return response(*choices[history])

    joint = transcripts(strategy)
    assert max(len(history) for history in joint) >= 3
    assert delta_at(joint, book.epsilon) <= book.delta


def test_the_sum_is_reached() -> None:
    """Two rounds of randomized response that fit exactly lose all of epsilon and of delta."""
    joint = transcripts(lambda history: response(1.0, 0.0) if len(history) < 2 else None)
    assert delta_at(joint, 2.0) == 0 < delta_at(joint, 2.0 - 1e-6)


def test_a_pure_budget_has_room_for_pure_mechanisms_only() -> None:
    book = SumFilter(epsilon=1.0, delta=0.0)
    assert book.limits() == {"epsilon": 10**12, "delta": 0}
    assert book.cost(0.5, 1e-300)["delta"] == 1
    assert book.cost(0.5, 0.0)["delta"] == 0
    assert "Pure" in book.describe()


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.1), (-1.0, 0.1), (1.0, 1.0), (1.0, -0.1)])
def test_nonsense_is_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(InputError):
        SumFilter(epsilon=epsilon, delta=delta)
