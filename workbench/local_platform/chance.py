"""Repeatable chance: every draw is a function of the seed, the route and the request."""

import hashlib
import math
from collections import OrderedDict
from statistics import NormalDist

from workbench.local_platform.calls import Call
from workbench.local_platform.config import FRONT_FAULTS, Latency, Length, Route, RouteFault

_REMEMBERED = 100_000
_NORMAL = NormalDist()


class Chance:
    """Draws latencies and faults; an equal request draws again each time it comes, in the same sequence every run."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def latency_s(self, route: Route, body: bytes) -> float:
        """The time a route takes for a request, in s, from its lognormal distribution."""
        return self._lognormal("latency", route.id, body, route.latency_ms) / 1000

    def answer_tokens(self, route: Route, body: bytes) -> int | None:
        """How long a route's answer to a request is, in tokens; None: as long as it takes."""
        if route.answer_tokens is None:
            return None
        return round(self._lognormal("length", route.id, body, route.answer_tokens))

    def fault(self, route: Route, call: Call, now_s: float, *, front: bool = False) -> RouteFault | None:
        """The fault that meets a call on a route, the same at each of its attempts; or None.

        Args:
            route: With its faults.
            call: Which.
            now_s: On the platform's clock.
            front: Of those in front of the model server; else of its own.
        """
        faults = [fault for fault in route.faults if (fault.kind in FRONT_FAULTS) is front]
        if not faults:
            return None
        point = self._uniform("front" if front else "fault", route.id, call.raw, call.repeat)
        for fault in faults:
            if not _is_its_time(fault, now_s):
                continue
            point -= fault.share
            if point < 0:
                return fault
        return None

    def _lognormal(self, purpose: str, route_id: str, body: bytes, shape: Latency | Length) -> float:
        if shape.sigma == 0:
            return shape.median
        normal = _NORMAL.inv_cdf(self._uniform(purpose, route_id, body, 0))
        return shape.median * math.exp(shape.sigma * normal)

    def _uniform(self, purpose: str, route_id: str, body: bytes, repeat: int) -> float:
        head = f"{self._seed}\0{purpose}\0{route_id}\0{repeat}\0".encode()
        digest = hashlib.blake2b(head + body, digest_size=8).digest()
        return (int.from_bytes(digest, "big") + 0.5) / 2**64


class Repeats:
    """Counts equal requests."""

    def __init__(self) -> None:
        self._seen: OrderedDict[bytes, int] = OrderedDict()

    def count(self, body: bytes) -> int:
        """How many requests with this body came before; of very many, those of long ago are forgotten."""
        key = hashlib.blake2b(body, digest_size=16).digest()
        before = self._seen.pop(key, 0)
        self._seen[key] = before + 1
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return before


def _is_its_time(fault: RouteFault, now_s: float) -> bool:
    if now_s < fault.from_s or (fault.until_s is not None and now_s >= fault.until_s):
        return False
    return fault.every_s is None or (now_s - fault.from_s) % fault.every_s < fault.for_s
