"""Timers: the kernel's clock source, and the smallest step of the clock that values are timed with."""

from __future__ import annotations

import time

from derive_bench.measure.checks.finding import Check, Outcome, failed, passed, warned
from derive_bench.measure.checks.plan import Plan
from derive_bench.measure.checks.system import System, Unread

__all__ = ["CHECKS", "judge_step", "smallest_step"]

SOURCES = "sys/devices/system/clocksource/clocksource0"

FAST = ("tsc", "arch_sys_counter", "timebase", "riscv_clocksource", "loongarch_csr_timer")
"""Clock sources that a process reads from the CPU itself."""

PARAVIRTUAL = ("kvm-clock", "hyperv_clocksource_tsc_page")
"""Those it reads from the CPU and corrects by what the host says."""

STEP_WARNED, STEP_FAILED = 200e-9, 2e-6
"""Seconds; a value lasts for milliseconds, the probe of the machine for half of one."""


def _source(system: System, _: Plan) -> Outcome:
    current = system.text(f"{SOURCES}/current_clocksource")
    if not current.replace("-", "_").isidentifier():
        raise Unread(f"/{SOURCES}/current_clocksource: {current[:40]!r} is no clock source")
    if current in FAST:
        return passed(current)
    if current in PARAVIRTUAL:
        return warned(current)
    available = system.text(f"{SOURCES}/available_clocksource").split() if system.exists(f"{SOURCES}/available_clocksource") else []
    if better := next((name for name in FAST if name in available), None):
        return failed(current, f"echo {better} | sudo tee /{SOURCES}/current_clocksource")
    return failed(current, "sudo dmesg | grep -iE 'tsc|clocksource'  # says why there is no better one")


def smallest_step() -> float:
    """The smallest step of ``time.perf_counter`` that shows, in seconds."""
    steps = []
    for _ in range(200):
        begin = time.perf_counter_ns()
        while (end := time.perf_counter_ns()) == begin:
            pass
        steps.append(end - begin)
    return min(steps) * 1e-9


def judge_step(seconds: float) -> Outcome:
    """What a smallest step of ``seconds`` means."""
    value = f"{seconds * 1e9:.0f} ns"
    return failed(value) if seconds > STEP_FAILED else warned(value) if seconds > STEP_WARNED else passed(value)


CHECKS = (
    Check(
        "clocksource",
        "a clock behind a system call costs microseconds at each reading",
        f"cat /{SOURCES}/available_clocksource",
        _source,
    ),
    Check(
        "timer",
        "what is timed must last long against a step of the clock",
        "python -m timeit -s 'from time import perf_counter as f' 'f()'  # and see clocksource",
        lambda _, __: judge_step(smallest_step()),
    ),
)
