"""Compare two results: ``compare(base, head)``.

A row is slower or faster if its change, with the machine's drift divided out, is beyond the threshold (half the gate), the quartiles
of its rounds are disjoint, the sign holds in :data:`REPETITION` of the rounds, and chance is ruled out (see :mod:`statistics`). It is
the same if the change is within the threshold and its 95 % margin, too; everything else is noisy, with the reason.

A round's figure is the fastest of its values. Each value is a mean of many calls already, and what disturbs one, a neighbour or a lost
time slice, only makes it slower: measured on a machine of two busy CPUs, the fastest of twenty values of a millisecond scatters half as
much between processes as their median.

The controls, rows that run none of our code, show the drift. From results that were not interleaved it is taken out of each round by
itself where there are :data:`CONTROLS_FOR_ROUNDS` of them: a machine that changes its speed between rounds is common.

Instruction counts do not scatter as times do: two processes alike are no repetition, so the gate, which is the threshold too, and
the quartiles alone decide.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from derive_bench.measure.compare.loading import SESSION, Measured, Rounds
from derive_bench.measure.compare.statistics import (
    ALPHA,
    Estimate,
    Samples,
    critical,
    estimate,
    holm,
    quantile,
    robust_deviation,
    student,
    typical_deviation,
)
from derive_bench.measure.compare.verdict import Change, Comparison, Drift, Verdict
from derive_bench.measure.count import GATE as COUNT_GATE
from derive_bench.measure.count import UNIT as INSTRUCTIONS

__all__ = ["TIME_GATE", "compare", "is_control"]

TIME_GATE = 0.10
"""The slowdown above which a comparison of times fails, unless told otherwise."""

REPETITION = 0.8
CONTROLS_FOR_ROUNDS = 3
LEAST_DEVIATION = 0.002
"""No row's rounds are believed to agree better than this, as a share: hand-made or rounded values do."""

Logs = Mapping[str, tuple[float, ...]]


def is_control(name: str) -> bool:
    """Whether the row runs none of our code, and so measures the machine."""
    return name.startswith(("control/", "atom/empty_"))


def compare(base: Measured, head: Measured, gate: float | None = None, marks: Sequence[str] = ()) -> Comparison:
    """Compare two results that are comparable (:func:`comparable.obstacles`), or are to be compared all the same.

    Args:
        gate: the slowdown, as a share, above which a row is a regression; None: the instrument's default.
        marks: what the comparison must say of itself.
    """
    counts = base.unit == INSTRUCTIONS
    gate = (COUNT_GATE if counts else TIME_GATE) if gate is None else gate
    both = [name for name in base.rounds if name in head.rounds]
    redefined = [name for name in both if base.statements[name] != head.statements[name]]
    names = [name for name in both if name not in redefined]
    paired = _paired(base, head)
    drift = Drift()
    changes: list[Change] = []
    if counts:
        changes = [_counted(name, base, head, gate) for name in names]
    elif names:
        drift, changes = _timed(names, base, head, gate, paired)
    return Comparison(
        base.name,
        head.name,
        base.unit,
        (_most(base.rounds, names), _most(head.rounds, names)),
        paired,
        gate if counts else gate / 2,
        gate,
        drift,
        tuple(changes),
        added=tuple(name for name in head.rounds if name not in base.rounds),
        removed=tuple(name for name in base.rounds if name not in head.rounds),
        redefined=tuple(redefined),
        marks=tuple(marks),
    )


def _paired(base: Measured, head: Measured) -> bool:
    session = base.results.metadata.get(SESSION)
    return session is not None and session == head.results.metadata.get(SESSION)


def _most(rounds: Mapping[str, Rounds], names: Sequence[str]) -> int:
    return max((len(rounds[name]) for name in names), default=0)


def _counted(name: str, base: Measured, head: Measured, gate: float) -> Change:
    before = [value for values in base.rounds[name] for value in values]
    after = [value for values in head.rounds[name] for value in values]
    ratio = median(after) / median(before)
    beyond = abs(ratio - 1) > gate
    apart = _disjoint(before, after)
    verdict = (Verdict.SLOWER if ratio > 1 else Verdict.FASTER) if beyond and apart else Verdict.NOISY if beyond else Verdict.SAME
    margin = (max(after) - min(after)) / median(after) / 2 + (max(before) - min(before)) / median(before) / 2
    control = is_control(name)
    return Change(
        name,
        median(before),
        median(after),
        ratio,
        margin,
        1.0,
        verdict,
        control,
        "the quartiles overlap" if verdict is Verdict.NOISY else "",
        verdict is Verdict.SLOWER and not control,
    )


def _disjoint(before: Sequence[float], after: Sequence[float]) -> bool:
    return quantile(before, 0.75) < quantile(after, 0.25) or quantile(after, 0.75) < quantile(before, 0.25)


def _timed(names: Sequence[str], base: Measured, head: Measured, gate: float, paired: bool) -> tuple[Drift, list[Change]]:
    levels = [_levels(side, names) if not paired else {} for side in (base, head)]
    samples, values = {}, {}
    for name in names:
        values[name] = _levelled(base.rounds[name], head.rounds[name], levels, paired)
        before, after = ([math.log(figure) for figure in side] for side in values[name])
        samples[name] = Samples(before, after, paired)
    floor = max(LEAST_DEVIATION, typical_deviation(samples))
    estimates = {name: estimate(sample, floor) for name, sample in samples.items()}
    drift, doubt = _drift({name: found for name, found in estimates.items() if is_control(name)})
    shift = math.log(drift.ratio)
    shifted = {name: Estimate(found.change - shift, math.hypot(found.error, doubt), found.freedom) for name, found in estimates.items()}
    p = _chances({name: found for name, found in shifted.items() if not is_control(name)})
    p |= _chances({name: found for name, found in shifted.items() if is_control(name)})
    changes = []
    for name in names:
        found, sample = shifted[name], samples[name]
        ratio = math.exp(found.change)
        margin = math.expm1(critical(found.freedom) * found.error) if found.freedom else math.inf
        before, after = values[name]
        apart = _disjoint(before, [value / drift.ratio for value in after])
        verdict, reason = _judge(ratio, margin, p.get(name, 1.0), apart, Samples(sample.base, _moved(sample.head, shift), paired), gate / 2)
        control = is_control(name)
        old, new = (median(map(min, side.rounds[name])) for side in (base, head))
        failed = verdict is Verdict.SLOWER and ratio - 1 > gate and not control
        changes.append(Change(name, old, new, ratio, margin, p.get(name, 1.0), verdict, control, reason, failed))
    return drift, changes


def _chances(estimates: Mapping[str, Estimate]) -> dict[str, float]:
    tested = {name: student(found.change / found.error, found.freedom) for name, found in estimates.items() if found.freedom}
    return dict(zip(tested, holm(list(tested.values())), strict=True))


def _moved(logs: Sequence[float], shift: float) -> list[float]:
    return [value - shift for value in logs]


def _judge(ratio: float, margin: float, p: float, apart: bool, sample: Samples, threshold: float) -> tuple[Verdict, str]:
    if not sample.freedom:
        return Verdict.NOISY, "one process: no repetition"
    if abs(ratio - 1) <= threshold:
        if margin <= threshold:
            return Verdict.SAME, ""
        return Verdict.NOISY, f"± {margin:.0%} hides a change of {threshold:.1%}"
    if not apart:
        return Verdict.NOISY, "the quartiles overlap"
    if sample.agreement < REPETITION:
        return Verdict.NOISY, f"only {sample.agreement:.0%} of the rounds agree"
    if p > ALPHA:
        return Verdict.NOISY, f"may be chance: p = {p:.2f} over all rows"
    return (Verdict.SLOWER if ratio > 1 else Verdict.FASTER), ""


def _levels(side: Measured, names: Sequence[str]) -> Mapping[int, float]:
    """By round, the logarithm of how slow the machine was, against the side's median round; nothing without enough controls."""
    controls = [name for name in names if is_control(name)]
    rounds = _most(side.rounds, names)
    complete = [name for name in controls if len(side.rounds[name]) == rounds]
    if len(complete) < CONTROLS_FOR_ROUNDS or rounds < 2:
        return {}
    logs = {name: [math.log(min(values)) for values in side.rounds[name]] for name in complete}
    return {number: median(logs[name][number] - median(logs[name]) for name in complete) for number in range(rounds)}


def _levelled(base: Rounds, head: Rounds, levels: Sequence[Mapping[int, float]], paired: bool) -> tuple[list[float], list[float]]:
    """The rounds' figures without the machine's changes between rounds: by the controls or, in paired rounds, by the pair's own level."""
    before, after = list(map(min, base)), list(map(min, head))
    if paired:
        pairs = [(one / math.sqrt(one * other), other / math.sqrt(one * other)) for one, other in zip(before, after, strict=False)]
        return [one for one, _ in pairs], [other for _, other in pairs]
    for figures, found in zip((before, after), levels, strict=True):
        figures[:] = [figure / math.exp(found.get(number, 0.0)) for number, figure in enumerate(figures)]
    return before, after


def _drift(controls: Mapping[str, Estimate]) -> tuple[Drift, float]:
    """The drift, and how far it may be off, as a standard error that every row's error takes in."""
    if not controls:
        return Drift(), 0.0
    changes = [found.change for found in controls.values()]
    spread = robust_deviation(changes)
    own = median(found.error for found in controls.values())
    disagree = len(changes) >= CONTROLS_FOR_ROUNDS and spread > max(2 * own, 0.01)
    doubt = spread if disagree else 1.2533 * max(spread, own) / math.sqrt(len(changes))
    return Drift(math.exp(median(changes)), spread, len(changes), disagree), doubt
