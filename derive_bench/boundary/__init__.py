"""The wall: what it costs to put the hot path, or a backtest kernel, behind a process."""
