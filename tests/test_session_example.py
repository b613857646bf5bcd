"""docs/session.md: its client runs as it stands, against a local venue."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from derive_bench.measure.trees import PACKAGE_PARENT, checkout_root
from tests.replay.venue.venue_support import write_tape

pytestmark = pytest.mark.skipif(checkout_root() is None, reason="not a checkout")

MOST = 5


def test_the_client_of_the_page_runs(tmp_path: Path) -> None:
    page = (PACKAGE_PARENT / "docs/session.md").read_text(encoding="utf-8")
    (client,) = re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    tape = tmp_path / "session.jsonl"
    write_tape(tape, seconds=20)
    serve = [sys.executable, "-m", "derive_bench", "serve", str(tape), "--port", "0", "--loop"]
    with subprocess.Popen(serve, cwd=PACKAGE_PARENT, stdout=subprocess.PIPE, text=True) as venue:
        assert venue.stdout is not None
        url = venue.stdout.readline().split()[-3]
        try:
            command = [sys.executable, "-c", client, url, str(MOST), "ticker_slim.ETH-PERP.100"]
            done = subprocess.run(command, cwd=PACKAGE_PARENT, capture_output=True, text=True, timeout=60, check=False)
        finally:
            venue.terminate()
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert sum(line.startswith("ticker_slim.ETH-PERP.100 ") for line in lines) >= MOST
    assert any(line.startswith("ChannelSubscribed(") for line in lines)
    assert "SessionClosed" in lines[-1]
