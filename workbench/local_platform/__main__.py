"""`python -m workbench.local_platform [--config PATH] [ID...]`: serve with a fresh key until standard input closes.

For a command that starts the platform beside itself; the first line of output is `{"base_url": …, "key": …}`. An ID that
the configuration, or else the catalogue, does not have gets a stand-in, so that a job for real models can be rehearsed.
"""

import asyncio
import difflib
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from workbench.local_platform.app import Platform
from workbench.local_platform.config import PlatformConfig, Route, load_config
from workbench.local_platform.server import Server, announce_json, serve
from workbench.local_platform.state import new_key


def main() -> None:
    """Serve a configuration, and stand-ins for what it lacks, for its first account."""
    path, ids = None, sys.argv[1:]
    if ids[:1] == ["--config"]:
        path, ids = Path(ids[1]), ids[2:]
    config = load_config(path)
    # of the catalogue the first route; a rehearsal's own may be one that fails
    model = config.routes[0] if path is None else Route("", "", skill="arithmetic")
    config = with_stand_ins(config, ids, model)
    key = new_key()
    server = Server(Platform(config, keys={key: config.accounts[0].name}))
    asyncio.run(serve(server, key, announce_json, with_parent=True))


def with_stand_ins(config: PlatformConfig, ids: Sequence[str], model: Route) -> PlatformConfig:
    """The same configuration with a copy of a route for each id that it lacks; says so on standard error."""
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
