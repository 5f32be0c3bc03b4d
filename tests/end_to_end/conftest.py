"""A server of odd replies, and a workbench that asks it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Workbench
from tests.end_to_end.odd_server import KEY, OddServer


@pytest.fixture
def odd() -> Iterator[OddServer]:
    with OddServer() as server:
        yield server


@pytest.fixture
def oddly(tmp_path: Path, odd: OddServer) -> Workbench:
    bench = Workbench(tmp_path, None)
    bench.environment |= {"WORKBENCH_BASE_URL": odd.base_url, "WORKBENCH_API_KEY": KEY}
    return bench
