"""The local venue and clients that nobody here wrote, each against `serve` in a process of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from derive_bench.adapter.protocol import V3_MAINNET
from derive_bench.adapter.signing import Signer, login_params
from derive_bench.measure.peers.adapters import Comparison
from derive_bench.measure.peers.environments import InstallFailed, install, interpreter
from derive_bench.measure.trees import PACKAGE_PARENT
from tests.replay.venue.venue_support import order_params, write_tape

pytestmark = pytest.mark.clients

HERE = Path(__file__).parent
KEYS = {"derive-py": "11" * 32, "ccxt": "22" * 32, "websockets": "33" * 32, "derive-client": "44" * 32}
"""Test keys, of nobody."""
SUBACCOUNT = 7


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tape") / "session.jsonl"
    write_tape(path, seconds=20)
    return path


@contextmanager
def serving(tape: Path, *options: str) -> Iterator[tuple[str, str]]:
    """WebSocket and HTTP URL of a venue in a process of its own."""
    command = [sys.executable, "-m", "derive_bench", "serve", str(tape), "--port", "0", "--loop", "--subaccount", str(SUBACCOUNT), *options]
    with subprocess.Popen(command, cwd=PACKAGE_PARENT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        words = process.stdout.readline().split()
        yield words[-3], words[-1]
        process.terminate()
        assert process.wait(10) == 0


@pytest.fixture(scope="module")
def urls(tape: Path) -> Iterator[tuple[str, str]]:
    with serving(tape) as found:
        yield found


def python_of(name: str) -> Path:
    """The interpreter of a client's environment, which is made if it is not there."""
    (adapter,) = Comparison.load().chosen([name])
    if interpreter(adapter) is None:
        try:
            install(adapter)
        except InstallFailed as error:
            pytest.skip(f"{name} {adapter.version} cannot be installed: {error}")
    python = interpreter(adapter)
    assert python is not None
    return python


def run_client(name: str, script: str, *arguments: str) -> dict[str, Any]:
    """What a client's script saw."""
    command = [str(python_of(name)), "-P", str(HERE / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    saw: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return saw


def test_derive_py_trades(urls: tuple[str, str]) -> None:
    key = KEYS["derive-py"]
    saw = run_client("derive-py", "venue_derive_py.py", *urls, f"0x{key}", str(SUBACCOUNT))
    assert saw["wallet"] == Signer(key).address
    assert saw["subaccounts"] == [SUBACCOUNT]
    assert "ETH-PERP" in saw["instruments"]
    assert saw["placed"] == ["open", "resting", 1]
    assert saw["replaced"] == ["cancelled", "open"]
    assert saw["replaces"]
    assert saw["cancelled"] == ["cancelled", "user_request"]
    assert saw["taken"] == ["filled", saw["ticker"]["ask"], 1]
    assert (saw["by_label"], saw["all"], saw["open_at_end"]) == (1, "ok", 0)
    assert saw["refused"] == {"post_only": 11008, "fee": 11023}
    frames = [("resting", "open"), ("resting", "cancelled"), ("resting", "open"), ("resting", "cancelled"), ("taking", "filled")]
    frames += [("a", "open"), ("b", "open"), ("a", "cancelled"), ("b", "cancelled")]
    assert [tuple(frame) for frame in saw["order_frames"]] == frames
    assert saw["trade_frames"] == [["taking", "taker", "0.5"]]
    assert saw["history"] == 1
    assert saw["position"] == [["ETH-PERP", "0.5"]]
    channels = ["balances", "orders", "trades"]
    assert saw["left"] == [*(f"{SUBACCOUNT}.{channel}" for channel in channels), "orderbook.ETH-PERP.1.10"]
    assert saw["after_the_cut"] == ["open", "cancelled"], "it logged in and subscribed again by itself"


def test_ccxt_trades(urls: tuple[str, str]) -> None:
    key = KEYS["ccxt"]
    saw = run_client("ccxt", "venue_ccxt.py", *urls, f"0x{key}", Signer(key).address, str(SUBACCOUNT))
    assert "ETH/USDC:USDC" in saw["markets"]
    assert saw["ticker"] == saw["rest_ticker"]
    assert saw["book"] == [True, True]
    assert saw["placed"] == ["open", "resting", 1000.0, 0.5]
    assert saw["open"] == [True]
    assert saw["edited"] == ["open", 1001.0, True]
    assert saw["cancelled"] == "canceled"
    ask = saw["ticker"][1]
    assert saw["taken"] == ["closed", ask, 0.5]
    assert saw["open_at_end"] == 0
    assert saw["refused"] == {"post_only": 11008, "tick": 11013, "fee": 11023}
    assert saw["my_trades"] == [[ask, 0.5]]
    assert saw["position"] == [["ETH/USDC:USDC", 0.5]]
    assert saw["watched_order"] == "resting"
    assert saw["watched_trade"] == [ask, 0.5, "buy"]


def test_derive_client_trades_in_v2(tape: Path) -> None:
    key, wallet = KEYS["derive-client"], "0x1111111111111111111111111111111111111111"
    python_of("derive-client")
    with serving(tape, "--protocol", "v2", "--session-key", f"{Signer(key).address}@{wallet}") as urls:
        saw = run_client("derive-client", "venue_derive_client.py", *urls, f"0x{key}", wallet, str(SUBACCOUNT))
    assert saw["subaccounts"] == [SUBACCOUNT]
    assert saw["placed"] == "open"
    assert saw["replaced"] == ["cancelled", "open"]
    assert saw["cancelled"] == "cancelled"
    assert saw["taken"] == ["filled", "2874.32"]
    assert saw["open_at_end"] == 0
    assert saw["books"]
    frames = [("resting", "open"), ("resting", "cancelled"), ("resting", "open"), ("resting", "cancelled"), ("taking", "filled")]
    assert [tuple(frame) for frame in saw["order_frames"]] == frames


def test_websockets_trades(urls: tuple[str, str]) -> None:
    websockets = pytest.importorskip("websockets", reason="websockets is not installed: make venv")
    signer = Signer(KEYS["websockets"])
    frames: list[dict[str, Any]] = []

    async def trade() -> None:
        async with websockets.connect(urls[0]) as socket:
            numbers = iter(range(1, 100))

            async def call(method: str, params: dict[str, Any]) -> dict[str, Any]:
                number = next(numbers)
                await socket.send(json.dumps({"id": number, "method": method, "params": params}))
                while True:
                    message: dict[str, Any] = json.loads(await asyncio.wait_for(socket.recv(), 10))
                    if message.get("id") == number:
                        return message
                    frames.append(message["params"])

            assert (await call("public/login", login_params(signer, V3_MAINNET, signer.address, time.time_ns() // 10**6)))["result"] == [
                SUBACCOUNT
            ]
            channels = ["orderbook.ETH-PERP.1.10", f"{SUBACCOUNT}.orders", f"{SUBACCOUNT}.trades"]
            assert (await call("subscribe", {"channels": channels}))["result"]["current_subscriptions"] == channels
            record = (await call("public/get_instrument", {"instrument_name": "ETH-PERP"}))["result"]
            placed = (await call("private/order", order_params(signer, record, SUBACCOUNT)))["result"]["order"]
            assert placed["order_status"] == "open"
            replacing = order_params(signer, record, SUBACCOUNT, limit_price="1001") | {"order_id_to_cancel": placed["order_id"]}
            replaced = (await call("private/replace", replacing))["result"]
            assert replaced["cancelled_order"]["order_id"] == replaced["order"]["replaced_order_id"] == placed["order_id"]
            taking = order_params(signer, record, SUBACCOUNT, limit_price="5000", order_type="market")
            assert len((await call("private/order", taking))["result"]["trades"]) == 1
            gone = {"subaccount_id": SUBACCOUNT, "instrument_name": "ETH-PERP", "order_id": replaced["order"]["order_id"]}
            assert (await call("private/cancel", gone))["result"]["order_status"] == "cancelled"
            assert (await call("private/cancel", gone))["error"]["code"] == 11003
            async with asyncio.timeout(20):
                while not any(frame["channel"] == "orderbook.ETH-PERP.1.10" for frame in frames):
                    await call("public/get_time", {})
                    await asyncio.sleep(0.05)

    asyncio.run(trade())
    heard = [frame["channel"] for frame in frames]
    assert heard.count(f"{SUBACCOUNT}.trades") == 1
    orders = [order["order_status"] for frame in frames if frame["channel"] == f"{SUBACCOUNT}.orders" for order in frame["data"]]
    assert orders == ["open", "cancelled", "open", "filled", "cancelled"]
