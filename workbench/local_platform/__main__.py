"""`python -m workbench.local_platform [ID...]`: serve with a fresh key until standard input closes.

For a command that starts the platform beside itself; the first line of output is `{"base_url": …, "key": …}`. An ID that
the catalogue does not have gets a stand-in, so that a job for real models can be rehearsed.
"""

import asyncio
import difflib
import sys
from collections.abc import Sequence

import msgspec

from workbench.local_platform.app import Platform
from workbench.local_platform.config import PlatformConfig, load_config
from workbench.local_platform.server import Server, announce_json, serve
from workbench.local_platform.state import new_key


def main() -> None:
    """Serve the built-in catalogue, and stand-ins for what it lacks, with the account `lab`."""
    config = with_stand_ins(load_config(), sys.argv[1:])
    key = new_key()
    server = Server(Platform(config, keys={key: config.accounts[0].name}))
    asyncio.run(serve(server, key, announce_json, with_parent=True))


def with_stand_ins(config: PlatformConfig, ids: Sequence[str]) -> PlatformConfig:
    """The same configuration with a copy of its first route for each id that it lacks; says so on standard error."""
    known = [*(route.id for route in config.routes), *(preset.id for preset in config.presets)]
    routes = list(config.routes)
    for wanted in ids:
        if wanted not in known:
            routes.append(msgspec.structs.replace(config.routes[0], id=wanted, upstream=f"stand-in/{wanted}"))
            near = difflib.get_close_matches(wanted, known, 1)
            meant = f" (did you mean {near[0]!r}?)" if near else ""
            print(f"note: a simulated stand-in answers for {wanted!r}{meant}", file=sys.stderr, flush=True)
    return msgspec.structs.replace(config, routes=tuple(routes))


if __name__ == "__main__":
    main()
