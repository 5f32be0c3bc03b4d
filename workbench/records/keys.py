"""The identities under which answers and samples are kept.

`request_key` is SHA-256 over a version, the endpoint's identity, the canonical JSON of the body (keys sorted), the
epoch and the occurrence number; an answer is a request key and a generation. The job's name, the profile's name and
the row number are not part of it, so that renaming never causes a second payment.

`sample_key` is SHA-256 over input, choices, target and what else a sample brings into its prompt: what comparisons pair on.
"""

import functools
import hashlib
from collections.abc import Collection
from typing import Any

import msgspec

from workbench.records.calls import Sample

KEY_VERSION = b"workbench request key 1"
SAMPLE_KEY_VERSION = b"workbench sample key 1"
_CANONICAL = msgspec.json.Encoder(order="sorted")


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and no white space: equal values give equal bytes."""
    return _CANONICAL.encode(value)


def request_key(identity: str, canonical_body: bytes, epoch: int, occurrence: int) -> str:
    """Return the identity of an answer, as 64 hexadecimal digits.

    Args:
        identity: The normalised base URL, or `local`.
        canonical_body: See `canonical`.
        epoch: From 1.
        occurrence: From 0.
    """
    # golden values in the tests: with any other recipe every answer of every ledger is asked and paid for once more
    return hashlib.sha256(_key_head(identity, epoch, occurrence) + canonical_body).hexdigest()


@functools.lru_cache
def _key_head(identity: str, epoch: int, occurrence: int) -> bytes:
    return b"\0".join((KEY_VERSION, identity.encode(), str(epoch).encode(), str(occurrence).encode(), b""))


def body_key(body: bytes) -> str:
    """Return the content address of a body as it is sent, as 64 hexadecimal digits."""
    return hashlib.sha256(body).hexdigest()


def content_key(content: str) -> str:
    """Return the key under which the ledger holds what a later run read of a sample, as 64 hexadecimal digits.

    Args:
        content: All of its columns as JSON, those too that make no other sample of it.
    """
    return hashlib.sha256(content.encode()).hexdigest()


def sample_key(sample: Sample, named: Collection[str] = ()) -> str:
    """Return the identity of a sample: SHA-256 over what it asks and what is right, as 64 hexadecimal digits.

    Args:
        sample: Its input, choices and target count, and its own tools.
        named: The variables of the job's templates: the columns among them count as well, where they say something else.
            Without them, rows that ask of different texts one and the same question would be one sample.
    """
    content: list[Any] = [sample.input, sample.choices, sample.target]
    own = sample.metadata if "metadata" in named else {name: sample.metadata.get(name) for name in named}
    more = {name: value for name, value in own.items() if value is not None and value not in content}
    if more or sample.tools:
        content += [more, sample.tools]
    return hashlib.sha256(SAMPLE_KEY_VERSION + b"\0" + canonical(content)).hexdigest()
