"""Repeatable chance: every draw is a function of the seed, the route and the request."""

import hashlib
import math
from collections import OrderedDict
from statistics import NormalDist

from workbench.local_platform.config import Route

_REMEMBERED = 100_000
_NORMAL = NormalDist()


class Chance:
    """Draws latencies and faults; an equal request draws anew each time it comes, in the same sequence every run."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._seen: OrderedDict[bytes, int] = OrderedDict()

    def latency_s(self, route: Route, body: bytes) -> float:
        """The time a route takes for a request, in s, from its lognormal distribution."""
        latency = route.latency_ms
        if latency.sigma == 0:
            return latency.median / 1000
        normal = _NORMAL.inv_cdf(self._uniform("latency", route.id, body, 0))
        return latency.median / 1000 * math.exp(latency.sigma * normal)

    def fault_status(self, route: Route, body: bytes) -> int | None:
        """The HTTP status of the fault that meets this request, or None."""
        if not route.faults:
            return None
        key = hashlib.blake2b(route.id.encode() + b"\0" + body, digest_size=16).digest()
        repeat = self._seen.pop(key, 0)
        self._seen[key] = repeat + 1
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        point = self._uniform("fault", route.id, body, repeat)
        for fault in route.faults:
            point -= fault.share
            if point < 0:
                return fault.status
        return None

    def _uniform(self, purpose: str, route_id: str, body: bytes, repeat: int) -> float:
        head = f"{self._seed}\0{purpose}\0{route_id}\0{repeat}\0".encode()
        digest = hashlib.blake2b(head + body, digest_size=8).digest()
        return (int.from_bytes(digest, "big") + 0.5) / 2**64
