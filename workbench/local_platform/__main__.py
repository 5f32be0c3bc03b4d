"""`python -m workbench.local_platform [ID...]`: serve with a fresh key until standard input closes.

For a command that starts the platform beside itself; the first line of output is `{"base_url": …, "key": …}`. An ID that
the configuration, or else the catalogue, does not have gets a stand-in, so that a job for real models can be rehearsed.
"""

import argparse
import asyncio
import difflib
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from workbench.local_platform.app import Platform
from workbench.local_platform.clock import Clock
from workbench.local_platform.config import PlatformConfig, Route, load_config
from workbench.local_platform.server import Server, announce_json, serve
from workbench.local_platform.shared import Surroundings
from workbench.local_platform.state import new_key


def main() -> None:
    """Serve a configuration, and stand-ins for what it lacks, for its first account."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, help="in place of the built-in catalogue")
    parser.add_argument("--answers", type=Path, help="the file of an answer key")
    parser.add_argument("--now", type=datetime.fromisoformat, help="the time that its clock tells when it starts")
    parser.add_argument("--scheduled", default="", help="the time for which the requests are scheduled")
    parser.add_argument("ids", nargs="*")
    given = parser.parse_args()
    config = load_config(given.config)
    # of the catalogue the first route; a rehearsal's own may be one that fails
    model = config.routes[0] if given.config is None else Route("", "", simulated="answers")
    config = with_stand_ins(config, given.ids, model)
    key = new_key()
    keys = {key: config.accounts[0].name}
    clock = Clock(config.clock_speed, given.now)
    around = Surroundings(clock=clock, answers=given.answers, scheduled=given.scheduled)
    served = Platform(config, keys=keys, around=around)
    asyncio.run(serve(Server(served), key, announce_json, with_parent=True))


def with_stand_ins(config: PlatformConfig, ids: Sequence[str], model: Route) -> PlatformConfig:
    """Return the same configuration with a copy of a route for each id that it lacks; says so on standard error."""
    known = [*(route.id for route in config.routes), *(preset.id for preset in config.presets)]
    routes = list(config.routes)
    for wanted in ids:
        if wanted not in known:
            routes.append(msgspec.structs.replace(model, id=wanted, upstream=f"stand-in/{wanted}"))
            near = difflib.get_close_matches(wanted, known, 1)
            meant = f" (did you mean {near[0]!r}?)" if near else ""
            print(f"note: a simulated stand-in answers for {wanted!r}{meant}", file=sys.stderr, flush=True)
    return msgspec.structs.replace(config, routes=tuple(routes))


if __name__ == "__main__":
    main()
