"""The player: counts that match what was injected, paces, filters, loops, both forms, and latencies that hide no stall."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from derive_bench.replay import Filter, Session, TapeError
from derive_bench.replay.player import BadFrameMet
from derive_bench.replay.records import Connect, Disconnect, Frame, Header, Record
from tests.replay.tapes import raws, session, write

FAULTS = (
    ("duplicates", 5),
    ("reorders", 4),
    ("gaps", 7),
    ("regressions", 3),
    ("unknown_fields", 9),
    ("unknown_topics", 2),
    ("malformed", 8),
)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("tapes") / "faulty.jsonl.gz", *session(2_000, 6, faults=FAULTS))


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("tapes") / "clean.jsonl", *session())


def report(*paths: Path, **settings: Any) -> dict[str, Any]:
    played = Session.open(*paths, **settings)
    for _ in played.steps():
        pass
    data: dict[str, Any] = played.report().data
    return data


def test_counts_are_exactly_what_was_injected(faulty: Path) -> None:
    data = report(faulty)
    counts = data["counts"]
    assert counts["frames"] == 2_000
    assert counts["bytes"] == sum(map(len, raws(session(2_000, 6, faults=FAULTS)[1])))
    assert counts["duplicate_trades"] == counts["disconnects"] == 5
    assert counts["late_private"] == 4
    assert counts["publish_id_gaps"] == 7
    assert 7 <= counts["publish_ids_missing"] <= 35
    assert counts["publish_id_regressions"] == 3
    assert counts["unknown_topics"] == 2
    assert counts["undecodable"] == len(data["undecodable"]) == 8
    assert counts["bad_elements"] == counts["unknown_instruments"] == 0


@pytest.mark.parametrize("protocol", ["v3", "v2"])
def test_a_clean_session_has_no_faults_and_orders_are_known(tmp_path: Path, protocol: str) -> None:
    data = report(write(tmp_path / "a.jsonl.zst", *session(3_000, 4, protocol)))
    counts = data["counts"]
    faults = (
        "undecodable",
        "unknown_topics",
        "publish_id_gaps",
        "publish_id_regressions",
        "late_private",
        "duplicate_trades",
        "disconnects",
    )
    assert [counts[fault] for fault in faults] == [0] * len(faults)
    assert {"OrderAccepted", "OrderFilled", "OrderUpdated", "OrderCanceled", "OrderRejected"} <= set(data["events"])
    assert "OrderStatusReport" not in data["events"], "every order is a registered one"
    assert data["warnings"] == []
    assert sum(channel["frames"] for channel in data["channels"].values()) == counts["frames"] == 3_000
    assert data["overall"]["count"] == 3_000
    json.dumps(data)


def test_iterating_gives_the_events_in_both_forms(clean: Path) -> None:
    played = Session.open(clean)
    names = [type(event).__name__ for event in played]
    assert len(names) == sum(played.report().data["events"].values())

    async def collect() -> list[str]:
        return [type(event).__name__ async for event in played]

    digest = played.report().digest
    assert asyncio.run(collect()) == names
    assert played.report().digest == digest


def test_loops_play_again_with_a_new_adapter(clean: Path) -> None:
    once, thrice = report(clean), report(clean, loops=3)
    assert thrice["counts"]["frames"] == 3 * once["counts"]["frames"]
    assert thrice["events"] == {kind: 3 * count for kind, count in once["events"].items()}
    assert thrice["counts"]["duplicate_trades"] == thrice["counts"]["publish_id_regressions"] == 0


def test_an_endless_loop_over_nothing_ends(tmp_path: Path) -> None:
    assert report(write(tmp_path / "a", Header(), []), loops=None)["counts"]["frames"] == 0


def test_several_files_are_merged_by_time(tmp_path: Path, clean: Path) -> None:
    header, records = session()
    parts = [[record for record in records if record.connection == connection] for connection in ("1", "2")]
    paths = [write(tmp_path / f"{number}.jsonl", header, part) for number, part in enumerate(parts)]
    steps = [step.frame.time_ns for step in Session.open(*paths).steps()]
    assert steps == sorted(steps)
    assert report(*paths)["digest"] == report(clean)["digest"]


@pytest.mark.parametrize(
    ("wanted", "kinds"),
    [
        (Filter(channels=("orderbook.*",)), {"orderbook"}),
        (Filter(channels=("orderbook.ETH-PERP.*", "trades.*")), {"orderbook", "trades"}),
        (Filter(connections=("2",)), {"orders", "private_trades", "reply"}),
        (Filter(instruments=("BTC-PERP",)), {"orderbook", "trades", "ticker_slim", "orders"}),
    ],
)
def test_filters_choose(clean: Path, wanted: Filter, kinds: set[str]) -> None:
    data = report(clean, wanted=wanted)
    assert set(data["channels"]) == kinds
    assert 0 < data["counts"]["frames"] < 600


def test_an_instrument_is_chosen_in_private_frames_too(clean: Path) -> None:
    for step in Session.open(clean, wanted=Filter(instruments=("BTC-PERP",))).steps():
        assert b"BTC-PERP" in step.frame.raw


def test_a_span_of_time_is_chosen(clean: Path) -> None:
    times = [record.time_ns for record in session()[1]]
    begin, end = times[200], times[400]
    played = [step.frame.time_ns for step in Session.open(clean, wanted=Filter(begin_ns=begin, end_ns=end)).steps()]
    assert played
    assert all(begin <= time < end for time in played)


def test_strict_names_the_first_bad_frame(faulty: Path) -> None:
    played = Session.open(faulty, strict=True).steps()
    with pytest.raises(BadFrameMet, match=r"frame 2\d\d on connection 1"):
        list(played)


class Clock:
    """A clock that only sleeping moves, and the work that is said to be done."""

    def __init__(self) -> None:
        self.now = 1_000_000_000

    def __call__(self) -> int:
        self.now += 1_000
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += int(seconds * 1e9)


def paced(times_ms: list[int]) -> list[Record]:
    raw = next(raw for raw in raws(session()[1]) if b"orderbook" in raw and b'"data"' in raw)
    return [Frame(time * 1_000_000, raw) for time in times_ms]


@pytest.mark.parametrize(("speed", "seconds"), [(1, 1.0), (4, 0.25), (0.5, 2.0)])
def test_a_session_takes_its_time_over_the_speed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, speed: float, seconds: float) -> None:
    clock = Clock()
    monkeypatch.setattr("time.sleep", clock.sleep)
    path = write(tmp_path / "a", session()[0], paced(list(range(0, 1_001, 10))))
    data = report(path, speed=speed, clock=clock)
    assert data["rate"]["elapsed_ns"] / 1e9 == pytest.approx(seconds, rel=0.01)
    assert data["rate"]["wanted_per_s"] == pytest.approx(101 / seconds)
    assert not data["rate"]["behind"]
    assert data["overall"]["max_ns"] < 300_000


def test_a_stall_of_50_ms_shows_in_all_frames_that_it_held_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("time.sleep", clock.sleep)
    path = write(tmp_path / "a", session()[0], paced(list(range(1_000))))
    played = Session.open(path, speed=1, clock=clock)
    for number, _ in enumerate(played.steps()):
        if number == 500:
            clock.now += 50_000_000
    data = played.report().data
    assert data["overall"]["max_ns"] == pytest.approx(49_000_000, rel=0.02)
    assert data["overall"]["p99_ns"] == pytest.approx(40_000_000, rel=0.05)
    assert data["overall"]["p50_ns"] < 300_000
    assert data["rate"]["late_frames"] in range(47, 51)
    assert data["rate"]["behind"]
    assert "fell behind" in data["warnings"][0]


def test_at_full_speed_a_stall_between_frames_is_nobodys(tmp_path: Path) -> None:
    clock = Clock()
    played = Session.open(write(tmp_path / "a", session()[0], paced([0, 1, 2])), clock=clock)
    for _ in played.steps():
        clock.now += 50_000_000
    data = played.report().data
    assert data["overall"]["max_ns"] < 10_000
    assert data["rate"]["wanted_per_s"] is None


def test_times_that_go_back_are_due_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("time.sleep", clock.sleep)
    data = report(write(tmp_path / "a", session()[0], paced([0, 100, 50, 110])), speed=1, clock=clock)
    assert data["rate"]["elapsed_ns"] == pytest.approx(110_000_000, rel=0.02)


def test_truncated_and_broken_files_are_played_and_told(tmp_path: Path, clean: Path) -> None:
    content = clean.read_bytes()
    path = tmp_path / "cut.jsonl"
    path.write_bytes(
        b"".join([*content[: len(content) // 2].splitlines(keepends=True)[:40], b"broken\n", content[len(content) // 2 : -30]])
    )
    data = report(path)
    assert data["counts"]["frames"] > 100
    assert data["files"][0]["truncated"]
    assert any("broken" in line or "no records" in line for line in data["warnings"])


def test_instruments_that_nobody_gave_are_guessed_and_told(tmp_path: Path, clean: Path) -> None:
    header, records = session()
    bare = write(tmp_path / "a", msgspec.structs.replace(header, instruments=[]), list(records))
    data = report(bare)
    assert "ETH-PERP" in data["instruments"]["guessed"]
    assert any("guessed" in line for line in data["warnings"])
    assert data["events"] == report(clean)["events"]
    file = tmp_path / "instruments.json"
    for value in (header.instruments, {"instruments": header.instruments}, {"result": {"instruments": header.instruments}}):
        file.write_text(json.dumps(value))
        given = report(bare, instruments=file)
        assert given["digest"] == report(clean)["digest"]
        assert given["instruments"]["guessed"] == []


@pytest.mark.parametrize("content", [b"nonsense", b"{}", b"[1]", b'[{"instrument_name":"A"}]'])
def test_instrument_files_that_are_none_are_refused(tmp_path: Path, clean: Path, content: bytes) -> None:
    file = tmp_path / "instruments.json"
    file.write_bytes(content)
    with pytest.raises(TapeError, match=r"instruments\.json"):
        Session.open(clean, instruments=file)


def test_an_instrument_seen_too_late_to_guess_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("derive_bench.replay.known.LOOKED_AT", 3)
    header, records = session()
    data = report(write(tmp_path / "a", msgspec.structs.replace(header, instruments=[]), list(records)))
    assert data["counts"]["unknown_instruments"] > 100
    assert any("--instruments" in line for line in data["warnings"])


def test_a_disconnect_lets_numbers_begin_anew(tmp_path: Path) -> None:
    raw = next(raw for raw in raws(session()[1]) if b"orderbook" in raw and b'"data"' in raw)
    number = int(raw.partition(b'"publish_id":')[2].partition(b",")[0])
    later = raw.replace(b"%d" % number, b"%d" % (number + 9))
    records: list[Record] = [Frame(1, raw), Disconnect(2, "1"), Connect(3, "1"), Frame(4, later), Frame(5, later, connection="2")]
    assert report(write(tmp_path / "a", session()[0], records))["counts"]["publish_id_gaps"] == 0
    records = [Frame(1, raw), Frame(4, later)]
    counts = report(write(tmp_path / "b", session()[0], records))["counts"]
    assert (counts["publish_id_gaps"], counts["publish_ids_missing"]) == (1, 8)


def test_nothing_to_replay_and_impossible_speeds_are_refused(clean: Path) -> None:
    with pytest.raises(TapeError, match="no file"):
        Session.open()
    with pytest.raises(TapeError, match="speed"):
        Session.open(clean, speed=0)
