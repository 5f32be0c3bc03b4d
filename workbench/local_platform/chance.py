"""Repeatable chance: every draw is a function of the seed, the route and the request."""

import hashlib
import math
from collections import OrderedDict
from statistics import NormalDist

from workbench.local_platform.answering import Standing
from workbench.local_platform.calls import Call
from workbench.local_platform.config import FRONT_FAULTS, Answers, Latency, Length, Route, RouteFault

_REMEMBERED = 100_000
_NORMAL = NormalDist()
_WRONG: tuple[Standing, ...] = ("empty", "cut", "refused", "prose")


_OF_SAMPLE, _OF_ROUTE, _OF_CALL = (math.sqrt(share) for share in (0.5, 0.25, 0.25))
"""What makes an answer right or wrong: how hard its question is for everyone, for its route, and this one time."""


class Chance:
    """Draws latencies, faults and answers; an equal request draws again each time it comes, in the same sequence every run."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def latency_s(self, route: Route, body: bytes) -> float:
        """Return the time a route takes for a request, in s, from its lognormal distribution."""
        return self._lognormal("latency", route.id, body, route.latency_ms) / 1000

    def answer_tokens(self, route: Route, length: Length | None, body: bytes) -> int | None:
        """Return how long a route's answer to a request is, in tokens; None: as long as it takes."""
        return None if length is None else round(self._lognormal("length", route.id, body, length))

    def standing(self, route: Route, call: Call, question: bytes, answers: Answers, scheduled: str) -> Standing:
        """Return how a route's answer stands to the answer key: right in the share that `answers` gives.

        Args:
            question: Which question that is.
            scheduled: The time for which a run was scheduled: two nights differ, and one of them repeated does not.
        """
        ease = (
            _OF_SAMPLE * self._normal("sample", "", question, 0)
            + _OF_ROUTE * self._normal("sample", route.id, question, 0)
            + _OF_CALL * self._normal(f"answer {scheduled}", route.id, call.raw, call.repeat)
        )
        if _NORMAL.cdf(ease) < answers.right:
            return "right"
        point = self._uniform(f"wrong {scheduled}", route.id, call.raw, call.repeat)
        for kind in _WRONG:
            point -= getattr(answers, kind)
            if point < 0:
                return kind
        return "wrong"

    def misjudges(self, route: Route, call: Call) -> bool:
        """Return whether a route's verdict is the opposite of what it sees."""
        return (
            route.wrong_verdicts > 0
            and self._uniform("verdict", route.id, call.raw, call.repeat) < route.wrong_verdicts
        )

    def fault(self, route: Route, call: Call, now_s: float, *, front: bool = False) -> RouteFault | None:
        """Return the fault that meets a call on a route, the same at each of its attempts; or None.

        Args:
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
        return shape.median * math.exp(shape.sigma * self._normal(purpose, route_id, body, 0))

    def _normal(self, purpose: str, route_id: str, body: bytes, repeat: int) -> float:
        return _NORMAL.inv_cdf(self._uniform(purpose, route_id, body, repeat))

    def _uniform(self, purpose: str, route_id: str, body: bytes, repeat: int) -> float:
        head = f"{self._seed}\0{purpose}\0{route_id}\0{repeat}\0".encode()
        digest = hashlib.blake2b(head + body, digest_size=8).digest()
        return (int.from_bytes(digest, "big") + 0.5) / 2**64


class Repeats:
    """Counts equal requests."""

    def __init__(self) -> None:
        self._seen: OrderedDict[bytes, int] = OrderedDict()

    def count(self, body: bytes) -> int:
        """Return how many requests with this body came before; of very many, those of long ago are forgotten."""
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
