"""Decoders: the map, its inverse, and the weight of what is acceptable, each against a list of everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.decoder import FAR, Decoder
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import whole_numbers
from pbdp.mechanism.log_grid import LogGrid
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.laplace import DiscreteLaplace

WINDOW = range(-90, 140)


def drawn(seed: int, first: int | None, last: int | None) -> Decoder:
    """Any decoder that joins what is published as it is, where answers have no end."""
    rng = np.random.default_rng(seed)
    parts = int(rng.choice([1, 2, 4]))
    count = int(rng.integers(1, 7))
    outputs = np.cumsum(rng.integers(1, 4, count)) - 3
    edges = np.cumsum(rng.integers(1, 9, count + 1)) - 9
    if first is None:
        edges = edges + min(0, parts * int(outputs[0]) - int(edges[0]))
    if last is None:
        edges[-1] = max(int(edges[-1]), parts * int(outputs[-1]))
    return Decoder(
        parts=parts, edges=tuple(edges.tolist()), outputs=tuple(outputs.tolist()), first=first, last=last
    )


ENDS = [(-2, 11), (0, None), (None, 7), (None, None)]


def brute(decoder: Decoder, noisy: int) -> int:
    if noisy < decoder.edges[0]:
        return decoder.outputs[0] if decoder.first is not None else noisy // decoder.parts
    if noisy >= decoder.edges[-1]:
        return decoder.outputs[-1] if decoder.last is not None else noisy // decoder.parts
    return [y for edge, y in zip(decoder.edges, decoder.outputs, strict=False) if edge <= noisy][-1]


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("seed", range(8))
def test_the_map_and_its_inverse(seed: int, ends: tuple[int | None, int | None]) -> None:
    decoder = drawn(seed, *ends)
    published = [brute(decoder, noisy) for noisy in WINDOW]
    assert decoder.output_of(np.array(WINDOW)).tolist() == published
    assert published == sorted(published)
    for output in range(-8, 20):
        (found,) = decoder.first_noisy(np.array([output])).tolist()
        listed = [noisy for noisy, y in zip(WINDOW, published, strict=True) if y >= output]
        if found == FAR:
            assert not listed
        elif found == -FAR:
            assert len(listed) == len(WINDOW)
        else:
            assert found == listed[0]
        first, last = decoder.noisy_range(output)
        same = [noisy for noisy, y in zip(WINDOW, published, strict=True) if y == output]
        assert [noisy for noisy in WINDOW if first <= noisy <= last] == same


def table(seed: int, parts: int) -> WeightTable:
    weights = np.random.default_rng(seed).integers(1, 1 << 55, 7, dtype=np.int64)
    weights[3] += TOTAL - int(weights.sum())
    return WeightTable(start=-3, weights=weights).in_multiples(parts)


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_weight_of_the_acceptable(seed: int, ends: tuple[int | None, int | None]) -> None:
    decoder = drawn(seed, *ends)
    noise = table(seed, decoder.parts)
    regions: list[Region] = [
        AbsoluteRegion(below=1, above=3),
        RelativeRegion(theta=0.3, tau=1.5, nonnegative=ends[0] == 0),
    ]
    for region in regions:
        answers, weights = decoder.weights(noise.split(decoder.parts), region)
        least = int(weights.min())
        for answer in range(-40 if ends[0] is None else ends[0], (60 if ends[1] is None else ends[1]) + 1):
            below, above = (float(offset) for offset in region.offsets(float(answer)))
            inside = 0
            for value, weight in zip(noise.values().tolist(), noise.weights.tolist(), strict=True):
                for part in range(decoder.parts):
                    y = brute(decoder, (answer + value) * decoder.parts + part)
                    inside += weight // decoder.parts if answer - below <= y <= answer + above else 0
            assert inside >= least
            if answers[0] < answer < answers[-1]:
                assert inside == int(weights[answer - answers[0]])


@pytest.mark.parametrize("seed", range(3))
def test_the_law_of_the_outputs(seed: int) -> None:
    decoder = drawn(seed, -2, 11)
    noise = table(seed, decoder.parts).split(decoder.parts)
    for answer in (-2, 4, 11):
        found = dict.fromkeys(decoder.outputs, 0)
        for value, weight in zip(noise.values().tolist(), noise.weights.tolist(), strict=True):
            found[brute(decoder, answer * decoder.parts + value)] += weight
        assert decoder.law(noise, answer).tolist() == list(found.values())


def test_it_is_read_as_it_was_written() -> None:
    for seed, ends in enumerate(ENDS):
        decoder = drawn(seed, *ends)
        assert Decoder.from_record(decoder.record()) == decoder


GOOD: dict[str, Any] = {"parts": 2, "edges": (-3, 1, 4), "outputs": (0, 1), "first": 0, "last": 5}


@pytest.mark.parametrize(
    "change",
    [
        {"parts": 3},
        {"parts": 0},
        {"parts": 256},
        {"parts": True},
        {"edges": (-3, 1)},
        {"edges": (1, 1, 4)},
        {"edges": (-3, 1.0, 4)},
        {"edges": (-3, 1, 1 << 60)},
        {"outputs": (1, 0)},
        {"outputs": (0, 0)},
        {"edges": (0,), "outputs": ()},
        {"first": 6},
        {"first": 0.0},
        {"last": None, "outputs": (0, 3)},
        {"first": None, "outputs": (-9, 1)},
    ],
)
def test_what_is_no_decoder_is_refused(change: dict[str, Any]) -> None:
    Decoder(**GOOD)
    with pytest.raises(InputError):
        Decoder(**{**GOOD, **change})


def test_only_plain_noise_on_an_even_grid_is_decoded() -> None:
    kernel, region = DiscreteLaplace(scale=2.0), AbsoluteRegion.even(2.0)
    decoder = Decoder(**GOOD)
    plain: dict[str, Any] = {"grid": whole_numbers(), "kernel": kernel, "region": region, "decoder": decoder}
    Design(**plain)
    log = LogGrid(theta=0.1, tau=2.0, nonnegative=True, step=0.125)
    for change in ({"boost": 0.5}, {"offset": 1}, {"grid": log}):
        with pytest.raises(InputError):
            Design(**{**plain, **change})
