"""Compression: bytes of a plain, gzip or zstd file as a stream, in both directions.

Contract: writing goes by the file's name (`.gz`, `.zst`, anything else is plain), reading by its first bytes. `Encoder.flush`
returns bytes after which everything given so far can be read back, although the stream goes on. `Source.pieces` yields
what can be read of a file, in pieces of bounded size; afterwards `Source.damage` tells whether the stream was whole.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, Final, Protocol

from derive_bench.replay.records import TapeError

__all__ = ["Encoder", "Source", "encoder"]

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_PIECE: Final = 1 << 16
"""Bytes read of a plain file at once, and the most that a gzip stream gives at once."""
_ZSTD_STEP: Final = 1 << 9
"""Bytes of a zstd stream that are decompressed at once: a block of a few bytes may stand for 128 KiB."""
_HEAD: Final = 1 << 12
"""Bytes from which the kind of a file is told."""
_GZIP_WBITS: Final = 31
_GZIP_LEVEL: Final = 4
_ZSTD_LEVEL: Final = 3


class Encoder(Protocol):
    """What turns written bytes into the file's bytes."""

    def compress(self, data: bytes) -> bytes:
        """Return bytes for the file, perhaps none yet."""

    def flush(self) -> bytes:
        """Return the bytes that make all that was given readable."""

    def finish(self) -> bytes:
        """Return the bytes that end the stream."""


def encoder(path: Path) -> Encoder:
    """Return the encoder that a file's name asks for."""
    if path.suffix == ".gz":
        return _Gzip()
    return _Zstd(path) if path.suffix == ".zst" else _Plain()


class _Plain:
    def compress(self, data: bytes) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""

    def finish(self) -> bytes:
        return b""


class _Gzip:
    def __init__(self) -> None:
        stream = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WBITS)
        self.compress = stream.compress
        self.finish = stream.flush
        self._stream = stream

    def flush(self) -> bytes:
        return self._stream.flush(zlib.Z_SYNC_FLUSH)


class _Zstd:
    def __init__(self, path: Path) -> None:
        zstandard = _zstandard(path)
        stream = zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True).compressobj()
        self.compress = stream.compress
        self.finish = stream.flush
        self._stream = stream
        self._block: int = zstandard.COMPRESSOBJ_FLUSH_BLOCK

    def flush(self) -> bytes:
        flushed: bytes = self._stream.flush(self._block)
        return flushed


class Source:
    """The decompressed bytes of an open file. After the last piece `damage` says what is wrong with the stream, None if nothing."""

    def __init__(self, path: Path, file: BufferedReader) -> None:
        self.path = path
        self.damage: str | None = None
        self._file = file

    def is_plain(self) -> bool:
        """Whether the file is not compressed; to be asked before anything is read."""
        head = self._file.peek(len(_ZSTD))[: len(_ZSTD)]
        return not (head.startswith((_GZIP, _ZSTD)) or _GZIP.startswith(head) or _ZSTD.startswith(head))

    def pieces(self) -> Iterator[bytes]:
        """Yield the content, up to where it can be read; the same bytes however the file is read."""
        head = self._read(_HEAD)
        if head.startswith(_GZIP):
            yield from self._gzip(head)
        elif head.startswith(_ZSTD):
            yield from self._zstd(head)
        elif head and (_GZIP.startswith(head) or _ZSTD.startswith(head)):
            self.damage = "the compressed stream is cut off in its first bytes"
        else:
            while head:
                yield head
                head = self._read(_PIECE)

    def _read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except OSError as error:
            raise TapeError(f"{self.path}: cannot be read: {error.strerror or error}") from None

    def _gzip(self, data: bytes) -> Iterator[bytes]:
        stream = zlib.decompressobj(_GZIP_WBITS)
        try:
            while data:
                piece = stream.decompress(data, _PIECE)
                if piece:
                    yield piece
                data = stream.unconsumed_tail
                if stream.eof:
                    data = stream.unused_data.lstrip(b"\0") or self._read(_HEAD)
                    if not data:
                        return
                    stream = zlib.decompressobj(_GZIP_WBITS)
                elif not data:
                    data = self._read(_PIECE)
            yield stream.flush()
        except zlib.error as error:
            self.damage = f"the gzip stream is damaged: {error}"
            return
        self.damage = "the gzip stream is cut off"

    def _zstd(self, data: bytes) -> Iterator[bytes]:
        zstandard = _zstandard(self.path)
        stream = zstandard.ZstdDecompressor().decompressobj()
        gathered: list[bytes] = []
        size = 0
        try:
            while data:
                piece, rest = stream.decompress(data[:_ZSTD_STEP]), data[_ZSTD_STEP:]
                gathered.append(piece)
                size += len(piece)
                if size >= _PIECE:
                    yield b"".join(gathered)
                    gathered.clear()
                    size = 0
                whole = stream.eof
                if whole:
                    rest = stream.unused_data + rest
                    stream = zstandard.ZstdDecompressor().decompressobj()
                data = rest or self._read(_PIECE)
            self.damage = None if whole else "the zstd stream is cut off"
        except zstandard.ZstdError as error:
            self.damage = f"the zstd stream is damaged: {error}"
        yield b"".join(gathered)


def _zstandard(path: Path) -> Any:
    try:
        import zstandard
    except ImportError:
        raise TapeError(f"{path}: zstd needs the library zstandard: pip install zstandard") from None
    return zstandard
