"""Zstandard with the standard library's interface, which came with Python 3.14; before it, its backport."""

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import CompressionParameter, ZstdCompressor, ZstdDecompressor, ZstdError, ZstdFile
else:
    from backports.zstd import CompressionParameter, ZstdCompressor, ZstdDecompressor, ZstdError, ZstdFile

__all__ = ["CompressionParameter", "ZstdCompressor", "ZstdDecompressor", "ZstdError", "ZstdFile"]
