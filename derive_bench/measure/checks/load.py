"""What else the machine does: load, pressure, and the processes that are busy just now."""

from __future__ import annotations

import os
from time import sleep
from typing import NamedTuple

from derive_bench.measure.checks.cpu import usable_cpus
from derive_bench.measure.checks.finding import Check, Outcome, failed, passed, warned
from derive_bench.measure.checks.plan import Plan
from derive_bench.measure.checks.system import System, Unread, number

__all__ = ["CHECKS", "WATCHED_SECONDS"]

LOAD_FAILED = 0.25
"""Load for each CPU; on a machine of one to four CPUs a load of 1. Half of it is warned of."""

PRESSURE_WARNED, PRESSURE_FAILED = 1.0, 10.0
"""Percent of the last ten seconds in which something waited for a CPU."""

WATCHED_SECONDS = 0.2

BUSY_TICKS = 2
"""Ticks, of some 10 ms each, within WATCHED_SECONDS: from a tenth of a CPU on a process is busy."""


def _load(system: System, _: Plan) -> Outcome:
    name = "proc/loadavg"
    word = system.text(name).split()[0]
    whole, point, fraction = word.partition(".")
    if not (point and whole.isdecimal() and fraction.isdecimal()):
        raise Unread(f"/{name}: {word[:40]!r} is not a load")
    load, most = float(word), max(1.0, LOAD_FAILED * len(usable_cpus(system)))
    value = f"{load:.2f} over the last minute"
    return failed(value) if load >= most else warned(value) if load >= most / 2 else passed(value)


def _pressure(system: System, _: Plan) -> Outcome:
    name = "proc/pressure/cpu"
    for line in system.text(name).splitlines():
        kind, *words = line.split()
        fields = dict(word.split("=", 1) for word in words if "=" in word)
        if kind == "some" and "avg10" in fields:
            try:
                share = float(fields["avg10"])
            except ValueError:
                break
            if not 0 <= share <= 100:
                break
            value = f"{share:g}% of the last ten seconds"
            return failed(value) if share >= PRESSURE_FAILED else warned(value) if share >= PRESSURE_WARNED else passed(value)
    raise Unread(f"/{name}: no share of the last ten seconds")


class _Process(NamedTuple):
    name: str
    ticks: int


def _busy(system: System, _: Plan) -> Outcome:
    before = _processes(system)
    sleep(WATCHED_SECONDS)
    after = _processes(system)
    own = str(os.getpid())
    spent = {pid: now.ticks - before[pid].ticks for pid, now in after.items() if pid in before and pid != own}
    busy = sorted((pid for pid in spent if spent[pid] >= BUSY_TICKS), key=lambda pid: -spent[pid])
    if not busy:
        return passed(f"none of {len(spent)} others")
    told = ", ".join(f"{after[pid].name} ({pid})" for pid in busy[:3]) + (f" and {len(busy) - 3} more" if len(busy) > 3 else "")
    return failed(told, f"ps -o pid,ppid,pcpu,etime,args -p {','.join(busy)}  # and end what is not needed: kill PID")


def _processes(system: System) -> dict[str, _Process]:
    """Processes by number; those that end meanwhile, or may not be read, are left out.

    Raises:
        Unread: there is not one.
    """
    found = {}
    for pid in system.names("proc"):
        if not pid.isdecimal():
            continue
        try:
            found[pid] = _process(system.text(f"proc/{pid}/stat"), f"/proc/{pid}/stat")
        except Unread:
            continue
    if not found:
        raise Unread("/proc: no process is shown")
    return found


def _process(text: str, place: str) -> _Process:
    # PID (NAME) STATE PPID …: the name may hold blanks and brackets; utime and stime are the 14th and 15th field.
    name, bracket, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    if not bracket or len(fields) < 13:
        raise Unread(f"{place}: not a process")
    return _Process(name, number(fields[11], place) + number(fields[12], place))


CHECKS = (
    Check(
        "load",
        "what waits for a CPU takes it in the middle of a value",
        "ps -eo pid,pcpu,etime,args --sort=-pcpu | head  # end what is busy, then wait a minute",
        _load,
    ),
    Check(
        "pressure",
        "says of the last ten seconds what the load says of the last minute",
        "ps -eo pid,pcpu,etime,args --sort=-pcpu | head  # a kernel without it: boot with psi=1",
        _pressure,
    ),
    Check(
        "busy",
        "a busy process takes caches, memory bandwidth and boost even where it leaves the CPU alone",
        "ps -eo pid,pcpu,etime,args --sort=-pcpu | head",
        _busy,
    ),
)
