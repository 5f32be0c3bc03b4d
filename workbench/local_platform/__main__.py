"""`python -m workbench.local_platform`: serve with a fresh key until standard input closes.

For a command that starts the platform beside itself; the first line of output is `{"base_url": …, "key": …}`.
"""

import asyncio

from workbench.local_platform.app import Platform
from workbench.local_platform.config import load_config
from workbench.local_platform.server import Server, announce_json, serve
from workbench.local_platform.state import new_key


def main() -> None:
    """Serve the built-in catalogue with the account `lab`."""
    config = load_config()
    key = new_key()
    server = Server(Platform(config, keys={key: config.accounts[0].name}))
    asyncio.run(serve(server, key, announce_json, with_parent=True))


if __name__ == "__main__":
    main()
