"""Chance that is the same everywhere: integers only, from the seeded bit stream of `random.Random`.

Contract: a draw consumes a fixed number of bits and does no floating point, so that a seed gives one session on every machine and
Python version (`getrandbits` of the Mersenne twister is the one method whose values Python has never changed).
"""

from __future__ import annotations

from random import Random

__all__ = ["Dice"]


class Dice:
    """Draws integers."""

    def __init__(self, seed: int) -> None:
        self._bits = Random(seed).getrandbits  # noqa: S311 -- a simulation

    def below(self, n: int) -> int:
        """Return one of 0 … n - 1, n up to 2**32."""
        return (self._bits(32) * n) >> 32

    def share(self, permille: int) -> bool:
        """Return True in so many of a thousand cases."""
        return (self._bits(32) * 1000) >> 32 < permille

    def small(self, most: int) -> int:
        """Return one of 1 … most, small ones more often."""
        return 1 + ((self._bits(16) * self._bits(16) * most) >> 32)

    def hex(self, digits: int) -> str:
        """Return so many random hex digits."""
        return f"{self._bits(4 * digits):0{digits}x}"

    def uuid(self) -> str:
        """Return a random id in the form of a UUID4."""
        text = self.hex(32)
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"

    def pick(self, weights: list[int]) -> int:
        """Return an index, each as often as its weight says."""
        left = self.below(sum(weights))
        for index, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return index
        raise ValueError("weights must not be all 0")
