"""The CPUs that workers run on: governor, turbo, frequency range, siblings, pinning and isolation.

Frequency scaling is read for each CPU of the plan, since a governor is set for each; turbo is a switch of intel_pstate, of the cpufreq
driver as a whole, or (amd_pstate, recent kernels) of each CPU.
"""

from __future__ import annotations

from collections.abc import Iterable

from derive_bench.measure.checks.finding import Check, Outcome, failed, passed, warned
from derive_bench.measure.checks.machine import virtual
from derive_bench.measure.checks.plan import Plan
from derive_bench.measure.checks.system import System, Unread, cpu_list, cpus_text

__all__ = ["CHECKS", "isolated_cpus", "online_cpus", "usable_cpus"]

CPUS = "sys/devices/system/cpu"

GOVERNORS = ("performance", "powersave", "ondemand", "conservative", "schedutil", "userspace", "interactive")


def isolated_cpus(system: System) -> tuple[int, ...]:
    """CPUs that the scheduler leaves alone; none where there are none.

    Raises:
        Unread
    """
    return cpu_list(system.raw(f"{CPUS}/isolated"), f"/{CPUS}/isolated")


def online_cpus(system: System) -> tuple[int, ...]:
    """CPUs that are switched on.

    Raises:
        Unread
    """
    return cpu_list(system.text(f"{CPUS}/online"), f"/{CPUS}/online")


def usable_cpus(system: System) -> tuple[int, ...]:
    """CPUs this process may run on, as far as the system shows: its own mask, else those that are online, else those there are."""
    for read in (_mask, online_cpus, _present):
        try:
            if found := read(system):
                return found
        except Unread:
            continue
    return ()


def _mask(system: System) -> tuple[int, ...]:
    name = "proc/self/status"
    lines = [line for line in system.text(name).splitlines() if line.startswith("Cpus_allowed_list:")]
    return cpu_list(lines[0].partition(":")[2], f"/{name}") if lines else ()


def _present(system: System) -> tuple[int, ...]:
    numbers = [name.removeprefix("cpu") for name in system.names(CPUS) if name.startswith("cpu")]
    return tuple(sorted(int(number) for number in numbers if number.isdecimal()))


def _chosen(plan: Plan) -> tuple[int, ...]:
    if not plan.cpus:
        raise Unread("which CPUs workers run on is not known")
    return plan.cpus


def _files(cpus: Iterable[int], name: str) -> str:
    """The files of some CPUs, as an argument of tee."""
    return " ".join(f"/{CPUS}/cpu{cpu}/{name}" for cpu in cpus)


def _governor(system: System, plan: Plan) -> Outcome:
    cpus = _chosen(plan)
    by_value: dict[str, list[int]] = {}
    for cpu in cpus:
        name = f"{CPUS}/cpu{cpu}/cpufreq/scaling_governor"
        governor = system.text(name)
        if governor not in GOVERNORS:
            raise Unread(f"/{name}: {governor[:40]!r} is no governor")
        by_value.setdefault(governor, []).append(cpu)
    value = "; ".join(f"{governor} on CPU {cpus_text(members)}" for governor, members in by_value.items())
    if set(by_value) == {"performance"}:
        return passed(value)
    wrong = [cpu for governor, members in by_value.items() if governor != "performance" for cpu in members]
    return failed(value, f"echo performance | sudo tee {_files(wrong, 'cpufreq/scaling_governor')}")


def _turbo(system: System, plan: Plan) -> Outcome:
    cpus = _chosen(plan)
    for name, off in ((f"{CPUS}/intel_pstate/no_turbo", 1), (f"{CPUS}/cpufreq/boost", 0)):
        # With intel_pstate switched off its files are there and refuse to be read.
        if not system.exists(name) or (off and _pstate_off(system)):
            continue
        value = _switch(system, name)
        if value == off:
            return passed(f"off ({name.removeprefix(CPUS + '/')} is {value})")
        boosted = cpus if off else [cpu for cpu in cpus if _boosted(system, cpu)]
        if not boosted:
            return passed(f"off for CPU {cpus_text(cpus)} (boost of each is 0)")
        return failed(f"on for CPU {cpus_text(boosted)} ({name.removeprefix(CPUS + '/')} is {value})", f"echo {off} | sudo tee /{name}")
    return _turbo_of_each(system, cpus)


def _turbo_of_each(system: System, cpus: tuple[int, ...]) -> Outcome:
    boosted = [cpu for cpu in cpus if _switch(system, f"{CPUS}/cpu{cpu}/cpufreq/boost")]
    if boosted:
        return failed(f"on for CPU {cpus_text(boosted)}", f"echo 0 | sudo tee {_files(boosted, 'cpufreq/boost')}")
    return passed(f"off for CPU {cpus_text(cpus)}")


def _boosted(system: System, cpu: int) -> bool:
    """Whether a CPU follows the switch of the whole driver, which is on."""
    name = f"{CPUS}/cpu{cpu}/cpufreq/boost"
    return _switch(system, name) == 1 if system.exists(name) else True


def _pstate_off(system: System) -> bool:
    name = f"{CPUS}/intel_pstate/status"
    return system.exists(name) and system.text(name) == "off"


def _switch(system: System, name: str) -> int:
    value = system.number(name)
    if value not in (0, 1):
        raise Unread(f"/{name}: {value} is neither 0 nor 1")
    return value


def _frequency(system: System, plan: Plan) -> Outcome:
    ranges: dict[tuple[int, int], list[int]] = {}
    for cpu in _chosen(plan):
        low, high = (system.number(f"{CPUS}/cpu{cpu}/cpufreq/scaling_{end}_freq") for end in ("min", "max"))
        if not 0 < low <= high:
            raise Unread(f"/{CPUS}/cpu{cpu}/cpufreq: a range from {low} to {high} kHz")
        ranges.setdefault((low, high), []).append(cpu)
    value = "; ".join(f"{low // 1000}–{high // 1000} MHz on CPU {cpus_text(cpus)}" for (low, high), cpus in ranges.items())
    if all(low == high for low, high in ranges):
        return passed(value)
    commands = [f"echo {high} | sudo tee {_files(cpus, 'cpufreq/scaling_min_freq')}" for (low, high), cpus in ranges.items() if low != high]
    return failed(value, " && ".join(commands))


def _siblings(system: System, plan: Plan) -> Outcome:
    cpus, shared = _chosen(plan), dict[int, tuple[int, ...]]()
    for cpu in cpus:
        name = f"{CPUS}/cpu{cpu}/topology/thread_siblings_list"
        siblings = cpu_list(system.text(name), f"/{name}")
        if cpu not in siblings:
            raise Unread(f"/{name}: {cpus_text(siblings)} does not name CPU {cpu} itself")
        if others := tuple(other for other in siblings if other != cpu):
            shared[cpu] = others
    if not shared:
        if virtual(system):
            raise Unread("none seen, but a hypervisor shows what it likes")
        return passed(f"CPU {cpus_text(cpus)} has its core for itself")
    value = "; ".join(f"CPU {cpu} shares a core with {cpus_text(others)}" for cpu, others in shared.items())
    partners = {other for others in shared.values() for other in others}
    if not partners & set(cpus) and partners <= set(_isolated_or_none(system)):
        return passed(f"{value}, which is isolated")
    if plan.pinned and not partners & set(cpus):
        return failed(value, f"echo 0 | sudo tee {_files(sorted(partners), 'online')}")
    return failed(value)


def _isolated_or_none(system: System) -> tuple[int, ...]:
    try:
        return isolated_cpus(system)
    except Unread:
        return ()


def _affinity(system: System, plan: Plan) -> Outcome:
    cpus = _chosen(plan)
    online = online_cpus(system) if plan.pinned else cpus
    if missing := set(cpus) - set(online):
        return failed(f"CPU {cpus_text(missing)} is not online", f"python -m derive_bench --affinity {online[-1]}")
    if len(cpus) == 1:
        return passed(f"{'pinned to' if plan.pinned else 'no more than'} CPU {cpus_text(cpus)}")
    value = f"{'pinned to' if plan.pinned else 'free to move over'} CPU {cpus_text(cpus)}"
    mend = f"python -m derive_bench --affinity {cpus[-1]}"
    return failed(value, mend) if plan.fixed else warned(value, mend)


def _isolated(system: System, plan: Plan) -> Outcome:
    cpus, isolated = _chosen(plan), isolated_cpus(system)
    if set(cpus) <= set(isolated):
        return passed(f"CPU {cpus_text(cpus)} of the isolated {cpus_text(isolated)}")
    if isolated:
        value = f"CPU {cpus_text(isolated)} is isolated, workers run on {cpus_text(cpus)}"
        return failed(value, f"python -m derive_bench --affinity {isolated[-1]}")
    last = cpus[-1]
    words = f"isolcpus={last} nohz_full={last} rcu_nocbs={last}"
    mend = f"sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&{words} /' /etc/default/grub && sudo update-grub && sudo reboot"
    return warned("no CPU is isolated", mend)


CHECKS = (
    Check(
        "governor",
        "a governor other than performance changes the clock with the load, in the middle of a value",
        "sudo modprobe acpi-cpufreq && echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        _governor,
    ),
    Check(
        "turbo",
        "boosted clocks depend on temperature and on what the neighbouring cores do",
        "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo || echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
        _turbo,
    ),
    Check(
        "frequency",
        "where the clock may move, times move with it",
        "sudo python -m pyperf system tune",
        _frequency,
    ),
    Check(
        "smt",
        "two threads of a core share its units and caches: a busy sibling costs tens of percents",
        "echo off | sudo tee /sys/devices/system/cpu/smt/control",
        _siblings,
    ),
    Check(
        "affinity",
        "a process that moves to another CPU finds cold caches there",
        "python -m derive_bench --affinity 0",
        _affinity,
    ),
    Check(
        "isolated",
        "only on an isolated CPU does the scheduler put nothing else",
        "cat /sys/devices/system/cpu/isolated",
        _isolated,
    ),
)
