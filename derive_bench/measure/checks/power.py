"""Heat and power: how often the CPUs were slowed down since boot, and whether the machine runs on its battery."""

from __future__ import annotations

from derive_bench.measure.checks.finding import Check, Outcome, failed, passed
from derive_bench.measure.checks.plan import Plan
from derive_bench.measure.checks.system import System, Unread

__all__ = ["CHECKS"]

CPUS = "sys/devices/system/cpu"
SUPPLIES = "sys/class/power_supply"


def _thermal(system: System, plan: Plan) -> Outcome:
    if not plan.cpus:
        raise Unread("which CPUs workers run on is not known")
    counts = {}
    for cpu in plan.cpus:
        folder = f"{CPUS}/cpu{cpu}/thermal_throttle"
        counts[cpu] = system.number(f"{folder}/core_throttle_count")
        if system.exists(f"{folder}/package_throttle_count"):
            counts[cpu] += system.number(f"{folder}/package_throttle_count")
    if not any(counts.values()):
        return passed("never since boot")
    return failed("; ".join(f"CPU {cpu} {count} times since boot" for cpu, count in counts.items() if count))


def _source(system: System, _: Plan) -> Outcome:
    supplies = {name: system.text(f"{SUPPLIES}/{name}/type") for name in system.names(SUPPLIES)}
    # What lies in a mouse or a keyboard is a battery, too, and no concern of ours.
    own = {name: kind for name, kind in supplies.items() if not _of_a_device(system, name)}
    mains = [name for name, kind in own.items() if kind in ("Mains", "USB")]
    batteries = [name for name, kind in own.items() if kind == "Battery"]
    if connected := [name for name in mains if system.number(f"{SUPPLIES}/{name}/online") > 0]:
        return passed(f"mains ({connected[0]})")
    states = {name: system.text(f"{SUPPLIES}/{name}/status") for name in batteries}
    if any(state == "Discharging" for state in states.values()):
        return failed(f"battery ({', '.join(batteries)})")
    if mains and "Mains" in own.values():
        return failed(f"mains not connected ({', '.join(mains)})")
    if not batteries:
        return passed("mains: there is no battery")
    if all(state in ("Charging", "Full", "Not charging") for state in states.values()):
        return passed(f"mains: battery is {', '.join(states.values()).lower()}")
    raise Unread(f"/{SUPPLIES}: battery is {', '.join(states.values()).lower()}")


def _of_a_device(system: System, name: str) -> bool:
    scope = f"{SUPPLIES}/{name}/scope"
    return system.exists(scope) and system.text(scope) == "Device"


CHECKS = (
    Check(
        "thermal",
        "a CPU that is too hot is slowed down in the middle of a run",
        "sudo dmesg | grep -i throttl; sensors  # mend the cooling; the counters start anew with: sudo reboot",
        _thermal,
    ),
    Check("power", "on its battery a machine limits its clocks", "upower -d  # and connect the mains", _source),
)
