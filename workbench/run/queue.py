"""Which request goes next: the models take turns, so that a slow route never starves a fast one."""

import anyio

from workbench.plan.expand import Plan


class Queue:
    """Hands out the items of a plan, one at a time.

    The next item is of the model with the fewest requests in flight among those that have items left and are below
    their own limit; among equals, of the one that waited longest.
    """

    def __init__(self, plan: Plan) -> None:
        self._items = [plan.to_send(number) for number in range(len(plan.models))]
        self._limits = [model.max_in_flight for model in plan.models]
        self._flying = [0] * len(plan.models)
        self._last_turn = [0] * len(plan.models)
        self._turn = 0
        self._ahead: list[int | None] = [next(items, None) for items in self._items]
        self._freed = anyio.Event()

    @property
    def exhausted(self) -> bool:
        """Whether every item was handed out."""
        return all(item is None for item in self._ahead)

    def take(self) -> tuple[int, int] | None:
        """The next item as (model number, item); None when none may go now."""
        open_models = [
            (self._flying[number], self._last_turn[number], number)
            for number, item in enumerate(self._ahead)
            if item is not None and self._flying[number] < self._limits[number]
        ]
        if not open_models:
            return None
        _, _, model = min(open_models)
        item = self._ahead[model]
        assert item is not None
        self._ahead[model] = next(self._items[model], None)
        self._turn += 1
        self._last_turn[model] = self._turn
        self._flying[model] += 1
        return model, item

    def give_back(self, model: int) -> None:
        """Say that a request of a model ended."""
        self._flying[model] -= 1
        self._freed.set()

    async def changed(self) -> None:
        """Wait until some request ends."""
        if self._freed.is_set():
            self._freed = anyio.Event()
        await self._freed.wait()
