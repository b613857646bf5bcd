"""The whole of ``peers``: installs, prepares the inputs, measures, writes and returns what is to be printed."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from derive_bench.cache import cache_folder
from derive_bench.measure import environment
from derive_bench.measure.checks.verdict import verdict
from derive_bench.measure.inputs import Inputs
from derive_bench.measure.peers.adapters import DRIVER, Adapter, AdapterError, Comparison
from derive_bench.measure.peers.contender import Place
from derive_bench.measure.peers.environments import InstallFailed, install, interpreter
from derive_bench.measure.peers.report import KIND, benchmarks, details, peer_notes, peer_tables
from derive_bench.measure.peers.session import PEER_PROFILES, Entry, OursFailed, PeerSession, our_name
from derive_bench.measure.reference import read_criterion
from derive_bench.measure.results import check_output, details_path, save, save_details
from derive_bench.measure.runner import Progress
from derive_bench.measure.trees import find_tree

__all__ = ["Outcome", "PeersRefused", "Request", "compare"]

LIVE = "v3"


class PeersRefused(Exception):
    """Nothing can be compared; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for; see the command's help."""

    only: list[str]
    install: bool
    profile: str
    output: Path | None
    reference: Path | None
    benches: Path | None
    data: Path | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it.

    Attributes:
        text: what the environment is worth, the tables, and what must be known of them.
        details: where the details were written, if there is an output.
        kept: anything was written.
        wrong_signatures: ``STAGE of PEER`` where a signature differs from ours.
    """

    text: str
    details: Path | None
    kept: bool
    interrupted: bool
    wrong_signatures: list[str]


def compare(request: Request, progress: Callable[[Progress], None], say: Callable[[str], None]) -> Outcome:
    """Do what is asked for; ``say`` takes lines on what is installed and what fails there.

    Raises:
        PeersRefused, SelectionError, OutputError, DataError, ReferenceUnreadable
    """
    try:
        comparison = Comparison.load(request.benches)
    except AdapterError as error:
        raise PeersRefused(str(error)) from error
    chosen = comparison.chosen(request.only)
    here = read_criterion(request.reference, list(comparison.reference.values())) if request.reference else {}
    if request.output:
        check_output(request.output)
        check_output(details_path(request.output))
    inputs = {dialect: Inputs(dialect, request.data) for dialect in dict.fromkeys([LIVE, *(peer.dialect for peer in chosen)])}
    entries = _entries(comparison, chosen, list(inputs), _install(chosen, say) if request.install else {})

    metadata = environment.describe(protocol=LIVE, profile=request.profile, data_hash=inputs[LIVE].data_hash(), hash_seed=None)
    found = verdict()
    metadata |= found.metadata() | {"suites": KIND}
    profile = PEER_PROFILES[request.profile]
    with tempfile.TemporaryDirectory(prefix="derive_bench-") as folder:
        materials = {}
        for dialect, each in inputs.items():
            materials[dialect] = Path(folder) / f"{dialect}.json"
            materials[dialect].write_text(json.dumps(comparison.material(each)), encoding="utf-8")
        session = PeerSession(comparison, entries, materials, profile)
        interrupted = False
        try:
            session.run(progress)
        except KeyboardInterrupt:
            interrupted = True
        except OursFailed as error:
            raise PeersRefused(str(error)) from error
    told = f"interrupted in generation {session.generations_done + 1} of {profile.generations}"
    metadata["complete"] = told if interrupted else "yes"
    measured = benchmarks(session, metadata)
    document = details(session, metadata, here)
    if request.output and measured:
        save(measured, request.output)
        save_details(document, request.output)
    return Outcome(
        text=f"{found.headline}\n\n{_text(document)}" if measured else "",
        details=details_path(request.output) if request.output else None,
        kept=bool(request.output and measured),
        interrupted=interrupted,
        wrong_signatures=[f"{cell.stage} of {cell.entry.name}" for cell in session.cells.values() if cell.wrong_signature],
    )


def _install(chosen: list[Adapter], say: Callable[[str], None]) -> dict[str, str]:
    """Install what is missing; why a peer could not be, by its name."""
    failed = {}
    for peer in chosen:
        if interpreter(peer) is None:
            say(f"installing {peer.name} {peer.version} into {cache_folder('peers')}")
            try:
                install(peer)
            except InstallFailed as error:
                failed[peer.name] = str(error)
                say(f"{peer.name} is left out: {error}")
    return failed


def _entries(comparison: Comparison, chosen: list[Adapter], dialects: list[str], failed: dict[str, str]) -> list[Entry]:
    driver = find_tree("benches") / "peers" / DRIVER
    ours = Place(Path(sys.executable), comparison.ours, driver, ours=True)
    entries = [Entry(our_name(dialect), dialect, None, ours) for dialect in dialects]
    for peer in chosen:
        python = interpreter(peer)
        place = Place(python, peer.path, driver) if python else None
        trouble = "" if place else failed.get(peer.name, f"not installed: python -m derive_bench peers --install --only {peer.name}")
        entries.append(Entry(peer.name, peer.dialect, peer, place, trouble))
    peers = entries[len(dialects) :]
    if not any(entry.place for entry in peers):
        if failed:
            raise PeersRefused(f"nothing could be installed: {peers[0].name}: {peers[0].trouble}")
        only = "".join(f" --only {entry.name}" for entry in peers) if len(peers) < len(comparison.peers) else ""
        names = ", ".join(entry.name for entry in peers)
        raise PeersRefused(f"not installed in {cache_folder('peers')}: {names}; run: python -m derive_bench peers --install{only}")
    return entries


def _text(document: dict[str, Any]) -> str:
    tables = [table.text() for table in peer_tables(document)]
    return "\n\n".join([*tables, "\n".join(peer_notes(document))])
