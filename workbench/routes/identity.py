"""What it rests on that a route is who it says: the names of its answers, the model list, the settings, and probes."""

from collections.abc import Mapping, Sequence

import msgspec

from workbench.ledger.route_rows import RouteServed
from workbench.routes.probes import KnownRoute


class RouteIdentity(msgspec.Struct, frozen=True):
    """A route that answers under another name than its id, or that a probe asked."""

    model: str
    answers: int
    """All of them."""
    names: tuple[RouteServed, ...]
    """Those that are not its id, each with its evidence; the most answers first."""
    probed: KnownRoute | None
    """What probes found of who answers; None: they found nothing."""


def identities(
    models: Sequence[str], served: Sequence[RouteServed], probed: Mapping[str, KnownRoute]
) -> list[RouteIdentity]:
    """Return every route of which there is more to say than that it answers under its id.

    Args:
        models: In order.
        served: Who answered for whom, over everything.
        probed: What all probes together know, by model.
    """
    found = []
    for model in models:
        rows = [row for row in served if row.requested_model == model]
        names = [row for row in rows if row.served_model not in (None, model)]
        known = probed.get(model)
        asked = known if known is not None and known.facts.answers is not None else None
        if names or asked is not None:
            found.append(RouteIdentity(model, sum(row.answers for row in rows), tuple(names), asked))
    return found
