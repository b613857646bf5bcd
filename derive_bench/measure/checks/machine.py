"""Whether the machine is a virtual one, and how much of its time its host gave to others."""

from __future__ import annotations

from derive_bench.measure.checks.finding import Check, Outcome, failed, passed, warned
from derive_bench.measure.checks.plan import Plan
from derive_bench.measure.checks.system import System, Unread, number

__all__ = ["CHECKS", "virtual"]

CPUINFO = "proc/cpuinfo"
HYPERVISOR = "sys/hypervisor/type"
BOARD = ("sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name")

VIRTUAL_BOARDS = ("qemu", "kvm", "vmware", "virtualbox", "xen", "bochs", "amazon ec2", "google compute engine", "virtual machine", "bhyve")
"""What the firmware of virtual machines calls itself, in lower case."""

COUNTED = "python -m derive_bench count  # nothing mends it from inside; instructions can be counted here"

STEAL_WARNED, STEAL_FAILED = 0.001, 0.01
"""Shares of the time since boot."""


def virtual(system: System) -> str:
    """What shows that there is a hypervisor, or an empty text if it is certain that there is none.

    Certain it is on x86 alone, whose CPUs have a flag for it: elsewhere signs may be there, but not their absence.

    Raises:
        Unread
    """
    if system.exists(HYPERVISOR):
        return f"{system.text(HYPERVISOR)} (/{HYPERVISOR})"
    for name in BOARD:
        if system.exists(name) and any(board in (text := _optional(system, name)).lower() for board in VIRTUAL_BOARDS):
            return f"{text} (/{name})"
    flags = [line for line in system.text(CPUINFO).splitlines() if line.startswith("flags")]
    if not flags:
        raise Unread(f"/{CPUINFO}: has no flags, which would tell")
    if any("hypervisor" in line.partition(":")[2].split() for line in flags):
        return f"hypervisor flag (/{CPUINFO})"
    return ""


def _optional(system: System, name: str) -> str:
    try:
        return system.text(name)
    except Unread:
        return ""


def _hypervisor(system: System, _: Plan) -> Outcome:
    sign = virtual(system)
    return failed(sign) if sign else passed("none")


def _steal(system: System, _: Plan) -> Outcome:
    name = "proc/stat"
    words = next((line.split() for line in system.text(name).splitlines() if line.startswith("cpu ")), [])
    # user nice system idle iowait irq softirq steal; guest times are part of user.
    ticks = [number(word, f"/{name}") for word in words[1:9]]
    if len(ticks) < 8 or sum(ticks) <= 0 or min(ticks) < 0:
        raise Unread(f"/{name}: no line of CPU times with steal")
    share = ticks[7] / sum(ticks)
    value = f"{share:.2%} since boot"
    return failed(value) if share > STEAL_FAILED else warned(value) if share > STEAL_WARNED else passed(value)


CHECKS = (
    Check(
        "hypervisor",
        "a virtual machine shares its cores with neighbours that it cannot see, and has no say over clocks",
        COUNTED,
        _hypervisor,
    ),
    Check(
        "steal",
        "time that the host gave to others is part of what was measured",
        COUNTED,
        _steal,
    ),
)
