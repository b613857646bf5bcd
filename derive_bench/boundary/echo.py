"""The echo curve: what a round trip costs over the number of bytes that cross.

Contract: `echoes` opens a case for one transport, one number of doubles and one placement of the two processes. `fit` lays
`T(b) = floor + 2 b / bandwidth` through the medians, b being the bytes one way, each point weighted by its own size so that a
microsecond at the small end counts as much as a millisecond at the other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from derive_bench.boundary.architectures import Opening, engine_command
from derive_bench.boundary.engines import open_engine
from derive_bench.boundary.placing import placed, spins_of
from derive_bench.boundary.ring import Unsupported
from derive_bench.boundary.session import Missing, Timed

__all__ = ["DOUBLES", "FEWER_DOUBLES", "Fit", "echoes", "fit", "payload_of"]

DOUBLES: Final = (1, 8, 64, 512, 4_096, 32_768, 150_000)
"""Payloads, in doubles of eight bytes."""

FEWER_DOUBLES: Final = (1, 4_096, 32_768, 150_000)
"""For what takes long to start: enough for a line with its error."""


@dataclass(frozen=True)
class Fit:
    """A line through round trips.

    Attributes:
        floor_ns, floor_error_ns: of a round trip without payload, and its standard error.
        ns_per_byte, ns_per_byte_error: of a byte that goes and comes back.
        worst: the largest distance of a point from the line, as a share of the point.
    """

    floor_ns: float
    floor_error_ns: float
    ns_per_byte: float
    ns_per_byte_error: float
    worst: float

    @property
    def bandwidth(self) -> float:
        """Bytes a second, one way."""
        return 2e9 / self.ns_per_byte

    def round_trip_ns(self, size: float) -> float:
        """What the line says of a payload of `size` bytes."""
        return self.floor_ns + self.ns_per_byte * size


def fit(medians_ns: Mapping[int, float]) -> Fit:
    """Fit bytes -> ns of a round trip, at least three points. `ValueError` for fewer."""
    if len(medians_ns) < 3:
        raise ValueError(f"a line with its error needs three points, and there are {len(medians_ns)}")
    sizes, times = np.array(list(medians_ns), dtype=float), np.array(list(medians_ns.values()))
    columns = np.stack([1 / times, sizes / times], axis=1)
    (floor, slope), *_ = np.linalg.lstsq(columns, np.ones_like(times), rcond=None)
    residuals = 1 - columns @ (floor, slope)
    variance = float(residuals @ residuals) / (len(times) - 2)
    errors = np.sqrt(np.diag(np.linalg.inv(columns.T @ columns)) * variance)
    return Fit(float(floor), float(errors[0]), float(slope), float(errors[1]), float(np.abs(residuals).max()))


def payload_of(doubles: int) -> memoryview:
    """The bytes of so many doubles."""
    return np.random.default_rng(doubles).random(doubles).data.cast("B")


def echoes(name: str, transport: str, doubles: int, where: str) -> Opening:
    """An engine that sends `doubles` numbers back, over one transport and placement."""

    @contextlib.contextmanager
    def opened() -> Iterator[Timed]:
        payload = payload_of(doubles)
        try:
            with placed(where) as its, open_engine(engine_command(name), transport, cpus=its, spins=spins_of(where)) as client:
                yield Timed(lambda: client.echo(payload), lambda found: "" if found == payload else "the echo brings other bytes back")
        except Unsupported as error:
            raise Missing(str(error)) from error

    return opened
