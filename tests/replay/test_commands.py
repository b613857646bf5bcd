"""The verbs synth and replay, as a user types them: what they print, write, refuse and leave behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from derive_bench.cli import main


def run(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    try:
        code = main([str(word) for word in words])
    except SystemExit as exit_:
        code = int(exit_.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def tape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = tmp_path / "day.jsonl.zst"
    code, out, _ = run(capsys, "synth", "--frames", "500", "--fault", "gaps=3,malformed=2", "-o", path)
    assert code == 0
    assert "500 frames received" in out
    assert "3 gaps, 2 malformed" in out
    return path


def test_synth_writes_the_same_bytes_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        code, out, _ = run(capsys, "synth", "--seed", "9", "--frames", "200", "--json", "-o", tmp_path / name)
        assert code == 0
        assert json.loads(out)["statistics"]["frames"] == 200
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--frames", "30", "--fault", "gaps=5"), "no place was found"),
        (("--mix", "x=1"), "mix"),
        (("--mix", "book"), "KIND=N"),
        (("--depths", "7"), "depths"),
        (("--change", "2"), "share"),
        (("--frames", "0"), "positive"),
    ],
)
def test_synth_refuses_in_a_line_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    code, out, err = run(capsys, "synth", *words, "-o", tmp_path / "a.jsonl")
    assert (code, out) == (2, "")
    assert message in err
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("mine")
    code, _, err = run(capsys, "synth", "--frames", "10", "-o", path)
    assert code == 2
    assert "exists already" in err
    assert path.read_text() == "mine"


def test_replay_tells_counts_and_digest(tape: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "replay", tape)
    assert code == 0
    assert "publish_id: 3 gaps" in out
    assert "2 undecodable" in out
    again = run(capsys, "replay", tape, "--no-latency")[1]
    digests = [next(line for line in text.splitlines() if line.startswith("digest")) for text in (out, again)]
    assert digests[0] == digests[1]


def test_replay_writes_report_curves_and_events(tape: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files: list[str | Path] = ["--json", tmp_path / "r.json", "--events", tmp_path / "e.jsonl.gz"]
    assert run(capsys, "replay", tape, *files)[0] == 0
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["schema"] == "derive_bench.replay/1"
    assert report["counts"]["frames"] == 500
    code, out, _ = run(capsys, "replay", tape, "--against", tmp_path / "e.jsonl.gz")
    assert code == 0
    assert "the same" in out
    curves: list[str | Path] = ["--channel", "trades.*", "--hgrm", tmp_path / "curves"]
    code, out, _ = run(capsys, "replay", tape, *curves, "--against", tmp_path / "e.jsonl.gz")
    assert code == 1
    assert "first difference" in out
    assert run(capsys, "replay", tape, "--events", tmp_path / "e.jsonl.gz")[0] == 2
    assert sorted(path.name for path in (tmp_path / "curves").iterdir()) == ["overall.hgrm", "trades.hgrm"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curves", "day.jsonl.zst", "e.jsonl.gz", "r.json"]


def test_replay_prints_json_alone_when_asked(tape: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "replay", tape, "--json", "-")
    assert code == 0
    assert json.loads(out)["digest"]["sha256"]


def test_times_are_iso_or_ns(tape: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ("2026-10-01T16:20:00.1", "2026-10-01T18:20:00.100+02:00", "1790871600100000000")
    counts = [json.loads(run(capsys, "replay", tape, "--json", "-", "--to", text)[1])["counts"]["frames"] for text in texts]
    assert 0 < counts[0] < 500
    assert len(set(counts)) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none.jsonl",), "cannot be read"),
        (("--speed", "0", "x"), "max"),
        (("--from", "noon", "x"), "--from"),
        ((), "required"),
    ],
)
def test_replay_refuses_in_a_line(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str) -> None:
    code, out, err = run(capsys, "replay", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_strict_stops_at_the_first_bad_frame(tape: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "replay", "--strict", tape)
    assert code == 2
    assert "frame " in err


def test_a_cut_file_is_played_and_told(tape: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(tape.read_bytes()[:-40])
    code, out, _ = run(capsys, "replay", cut)
    assert code == 0
    assert "warning" in out
    assert "cut off" in out
