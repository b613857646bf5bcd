"""The cgroup: a CPU quota, and how often it has stopped what runs in it.

Version 2 has one tree, in which the limit of any ancestor holds, too; version 1 has a tree for the ``cpu`` controller, and inside a
container often does not show the path that ``/proc/self/cgroup`` names, but its own limits at the root. What lies above a
container's root cannot be seen from inside.
"""

from __future__ import annotations

from derive_bench.measure.checks.finding import Check, Outcome, failed, passed, warned
from derive_bench.measure.checks.plan import Plan
from derive_bench.measure.checks.system import System, Unread, number

__all__ = ["CHECKS"]

MEMBERSHIP = "proc/self/cgroup"
MOUNT = "sys/fs/cgroup"
MENDED_QUOTA = "sudo systemctl set-property --runtime SLICE CPUQuota=  # container: start it without --cpus and --cpu-quota"


def _levels(system: System) -> list[str]:
    """Folders of our cgroup that rule over CPU time, the innermost first.

    Raises:
        Unread: there is none.
    """
    unified = None
    for line in system.text(MEMBERSHIP).splitlines():
        hierarchy, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if not colon:
            raise Unread(f"/{MEMBERSHIP}: {line[:40]!r} is not a cgroup")
        if "cpu" in controllers.split(","):
            return _existing(system, [f"{MOUNT}/{controllers}", f"{MOUNT}/cpu", f"{MOUNT}/cpu,cpuacct"], path)
        if hierarchy == "0" and not controllers:
            unified = path
    if unified is None:
        raise Unread(f"/{MEMBERSHIP}: names no cgroup with CPU time")
    return _existing(system, [MOUNT], unified)


def _existing(system: System, mounts: list[str], path: str) -> list[str]:
    mount = next((mount for mount in mounts if system.exists(mount)), None)
    if mount is None:
        raise Unread(f"/{mounts[0]}: not mounted")
    names = [name for name in path.split("/") if name and name != ".."]
    folders = ["/".join([mount, *names[:depth]]) for depth in range(len(names), -1, -1)]
    return [folder for folder in folders if system.exists(folder)]


def _quotas(system: System) -> list[float]:
    """Limits that are set, in CPUs.

    Raises:
        Unread: also where no level says anything of CPU time.
    """
    limits, spoken = [], False
    for folder in _levels(system):
        if system.exists(f"{folder}/cpu.max"):
            spoken = True
            quota, _, period = system.text(f"{folder}/cpu.max").partition(" ")
            if quota != "max":
                limits.append(_cpus(quota, period, f"/{folder}/cpu.max"))
        elif system.exists(f"{folder}/cpu.cfs_quota_us"):
            spoken = True
            quota, period = (system.text(f"{folder}/cpu.cfs_{name}_us") for name in ("quota", "period"))
            if quota != "-1":
                limits.append(_cpus(quota, period, f"/{folder}/cpu.cfs_quota_us"))
        elif folder == MOUNT and "cpu" in system.text(f"{folder}/cgroup.controllers").split():
            # The root of the whole tree has the controller and no limit.
            spoken = True
    if not spoken:
        raise Unread(f"/{MOUNT}: no level of our cgroup says anything of CPU time")
    return limits


def _cpus(quota: str, period: str, place: str) -> float:
    allowed, of = number(quota, place), number(period.strip(), place)
    if allowed <= 0 or of <= 0:
        raise Unread(f"{place}: {quota} of {period} is no quota")
    return allowed / of


def _quota(system: System, _: Plan) -> Outcome:
    limits = _quotas(system)
    if not limits:
        return passed("none")
    value = f"{min(limits):g} CPUs"
    return failed(value) if min(limits) < 1 else warned(value)


def _throttling(system: System, _: Plan) -> Outcome:
    counts = []
    for folder in _levels(system):
        name = f"{folder}/cpu.stat"
        if system.exists(name):
            fields = dict(line.split(None, 1) for line in system.text(name).splitlines() if len(line.split()) == 2)
            counts += [number(fields["nr_throttled"], f"/{name}")] if "nr_throttled" in fields else []
    if not counts:
        if _quotas(system):
            raise Unread(f"/{MOUNT}: a quota, but no count of what it stopped")
        return passed("cannot be: no quota")
    return failed(f"{max(counts)} times so far") if max(counts) else passed("never so far")


CHECKS = (
    Check("cpu_quota", "who has used up a quota stands still until the period ends, tens of milliseconds", MENDED_QUOTA, _quota),
    Check("throttling", "the quota has stopped this cgroup before, and will again", MENDED_QUOTA, _throttling),
)
