"""Coroutines called from plain functions: on an event loop of their own, on this thread or another."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from workbench.running.signals import Interrupts, handlers, passed_on, restore

T = TypeVar("T")


def on_a_loop(main: Callable[[], Awaitable[T]], interrupts: Interrupts | None = None) -> T:
    """Run a coroutine function to its end: on this thread, or on another one where a loop runs on this one already.

    Args:
        main: Called on the loop.
        interrupts: Told when this thread is interrupted while it waits for the other one.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        before = handlers()
        try:
            return anyio.run(main)
        finally:
            restore(before)
    return _on_a_thread(main, interrupts)


def _on_a_thread(main: Callable[[], Awaitable[T]], interrupts: Interrupts | None) -> T:
    returned: list[T] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            returned.append(anyio.run(main))
        except BaseException as error:  # raised again where it was asked for
            failed.append(error)

    thread = threading.Thread(target=work, name="workbench")
    with passed_on(interrupts):  # an interrupted cell: the run drains, and is returned
        thread.start()
        thread.join()
    if failed:
        raise failed[0]
    return returned[0]
