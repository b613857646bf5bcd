"""Latencies: HDR histograms by channel and overall, and the collector's pauses.

Contract: `Latencies.note` keeps a value, ns; `drain` takes what was kept into the histograms (three digits, 1 ns to 1,000 s), which
costs milliseconds: call it when nothing is due. Histograms are those of the hdrhistogram
library; `summary` gives plain numbers, `write_hgrm` the text that HDR plotters read, in microseconds.
"""

from __future__ import annotations

import gc
from collections import Counter
from pathlib import Path
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Final, Self

from hdrh.histogram import HdrHistogram

from derive_bench.replay.records import TapeError

__all__ = ["OVERALL", "PERCENTILES", "GcPauses", "Latencies"]

OVERALL: Final = "overall"
PERCENTILES: Final = (50.0, 90.0, 99.0, 99.9)

DRAIN_AT: Final = 16_384
"""Latencies of a channel that wait, at full speed, before they are taken into the histograms."""

_LOWEST: Final = 1
_HIGHEST: Final = 1_000_000_000_000
_DIGITS: Final = 3
_TICKS: Final = 5
"""Points of a curve between one percentile and the one half as far from 100."""
_US: Final = 1_000.0


class Latencies:
    """Histograms by channel."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[int]] = {}
        self._histograms: dict[str, HdrHistogram] = {}
        self._totals: dict[str, int] = {}

    def note(self, channel: str, latency_ns: int, most: int = DRAIN_AT) -> None:
        """Add one latency; when `most` of a channel wait, all are taken into the histograms."""
        values = self._waiting.get(channel)
        if values is None:
            values = self._waiting[channel] = []
        values.append(latency_ns)
        if len(values) >= most:
            self.drain()

    @property
    def waiting(self) -> int:
        """How many values were not yet taken into the histograms."""
        return sum(map(len, self._waiting.values()))

    def drain(self) -> None:
        """Take all values into the histograms."""
        for channel, values in self._waiting.items():
            if values:
                histogram = self._histograms.get(channel)
                if histogram is None:
                    histogram = self._histograms[channel] = _histogram()
                self._totals[channel] = self._totals.get(channel, 0) + sum(values)
                for value, count in Counter(values).items():
                    histogram.record_value(min(max(value, _LOWEST), _HIGHEST), count)
                values.clear()

    def by_channel(self) -> dict[str, HdrHistogram]:
        """Return the histograms by channel, in order of names, after all of them together under `overall`."""
        self.drain()
        overall = _histogram()
        for histogram in self._histograms.values():
            overall.add(histogram)
        return {OVERALL: overall} | {channel: self._histograms[channel] for channel in sorted(self._histograms)}

    def summaries(self) -> dict[str, dict[str, Any]]:
        """Return each histogram's figures, ns, and its curve: percentiles, and the values that so many are not above."""
        histograms = self.by_channel()
        totals = {OVERALL: sum(self._totals.values()), **self._totals}
        return {channel: _summary(histogram, totals[channel]) for channel, histogram in histograms.items() if histogram.total_count}

    def write_hgrm(self, folder: Path) -> list[Path]:
        """Write one `.hgrm` file for each channel and return their paths. Raises `TapeError`."""
        written = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for channel, histogram in self.by_channel().items():
                path = folder / f"{channel}.hgrm"
                with path.open("wb") as file:
                    histogram.output_percentile_distribution(file, _US)
                written.append(path)
        except OSError as error:
            raise TapeError(f"{folder}: cannot be written: {error.strerror or error}") from None
        return written


class GcPauses:
    """Times the collector's runs while it is entered."""

    def __init__(self) -> None:
        self.histogram = _histogram()
        self.total_ns = 0
        self.by_generation = [0, 0, 0]
        self._began = 0

    def __enter__(self) -> Self:
        gc.callbacks.append(self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        gc.callbacks.remove(self._note)

    def _note(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._began = perf_counter_ns()
            return
        pause = perf_counter_ns() - self._began
        self.total_ns += pause
        self.by_generation[info["generation"]] += 1
        self.histogram.record_value(min(max(pause, _LOWEST), _HIGHEST))

    def summary(self) -> dict[str, Any]:
        """Return the figures, ns, and the curve, if the collector ran."""
        figures = {**_figures(self.histogram), "curve": _curve(self.histogram)} if self.histogram.total_count else {}
        return {"collections": self.histogram.total_count, "by_generation": self.by_generation, "total_ns": self.total_ns, **figures}


def _histogram() -> HdrHistogram:
    return HdrHistogram(_LOWEST, _HIGHEST, _DIGITS)


def _summary(histogram: HdrHistogram, total_ns: int) -> dict[str, Any]:
    count = histogram.total_count
    return {"count": count, **_figures(histogram), "mean_ns": round(total_ns / count), "curve": _curve(histogram)}


def _curve(histogram: HdrHistogram) -> list[list[float]]:
    points = [100.0 * (1.0 - 0.5 ** (tick / _TICKS)) for tick in range(_TICKS * histogram.total_count.bit_length())]
    return [[point, value] for point, value in histogram.get_percentile_to_value_dict([*points, 100.0]).items()]


def _figures(histogram: HdrHistogram) -> dict[str, int]:
    values = histogram.get_percentile_to_value_dict(list(PERCENTILES))
    return {**{f"p{percentile:g}_ns": value for percentile, value in values.items()}, "max_ns": histogram.get_max_value()}
