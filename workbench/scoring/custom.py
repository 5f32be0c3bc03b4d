"""`custom`: a Python function of the user's own."""

import contextlib
import hashlib
import importlib
import importlib.util
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Self

import msgspec

from workbench.records.calls import Sample, Score
from workbench.scoring.given import Given
from workbench.scoring.scorer import FAILED, MOST_SCORE, CannotJudgeError, Scorer

_MOST_REASON_CHARS = 2_000


class Custom(Scorer, frozen=True, tag="custom"):
    """A Python function of your own judges: `def name(answer, sample)` returns a number, true or false, None, or an object.

    `scale = [0, 1]` says what the number may be: without it answers that have no score cannot be bounded, and a model that has
    some is not ranked. `answer` has `text`, `calls` (each with `name` and `arguments`), `latency_ms`, `completion_tokens`,
    `total_tokens`, `requested_model`, `served_model` and `refused`; `sample` has `id`, `input`, `target`, `choices`, `metadata`.
    The object has `value`, and if it likes `reason` and `extracted`. None, or whatever the function raises, leaves the answer
    unscored. What it prints goes to standard error.
    """

    function: str
    """Where it is: "package.module:name", or "file.py:name" with the file beside the job."""

    needs_text: ClassVar[bool] = False
    by_target: ClassVar[bool] = False

    @property
    def settings(self) -> str:
        """What its scores depend on, the text of its file among it."""
        file = self.function.rpartition(":")[0]
        text = Path(file).read_bytes() if file.endswith(".py") and Path(file).is_file() else None
        of_file = {} if text is None else {"sha256": hashlib.sha256(text).hexdigest()}
        return msgspec.json.encode(msgspec.to_builtins(self) | of_file).decode()

    def target_of(self, sample: Sample) -> Sample:
        """Return the whole sample: what is right is for the function to say."""
        return sample

    def score(self, answer: Given, sample: Sample) -> Score:
        """Return what the function says, or why it says nothing."""
        try:
            with _printing_aside():
                return _as_score(self._found()(answer, sample))
        except SystemExit as error:  # a script's way to end, which would take the other scores along
            return Score(None, f"{FAILED}the function ended with sys.exit({error.code!r})")

    def tried_on(self, sample: Sample) -> tuple[str, bool]:
        """Return how the function fails on an answer that says what the sample's target says, and whether it would on any.

        Nothing where it does not fail; most functions may fail on an answer that is not as they want it.
        """
        text = sample.target if isinstance(sample.target, str) else msgspec.json.encode(sample.target).decode()
        given = Given(text or "an answer", (), 1000.0, 10, 20, "model", "model")
        try:
            inspect.signature(self._found()).bind(given, sample)
        except TypeError as error:
            return f"it takes an answer and a sample: {error}", True
        except (Exception, SystemExit):  # one that Python cannot describe, or that `faults` has found
            return "", False
        try:
            said = self.score(given, sample)
        except CannotJudgeError:
            return "", False
        except Exception as error:
            return f"{type(error).__name__}: {error}", isinstance(error, NameError | ImportError)
        if said.value is None:
            return (said.reason.removeprefix(FAILED), False) if said.reason.startswith(FAILED) else ("", False)
        if self.ends is not None and not self.ends[0] <= said.value <= self.ends[1]:
            return f"the function returned {said.value:g}, outside of its scale", False
        return "", False

    @property
    def ends(self) -> tuple[float, float] | None:
        """The `scale` that its job gives it."""
        return None if self.scale is msgspec.UNSET else self.scale

    def faults(self) -> Iterator[tuple[str, str]]:
        """Return a function that cannot be found, or would have to be awaited."""
        try:
            with _printing_aside():
                found = self._found()
        except (Exception, SystemExit) as error:
            yield "function", f"{self.function!r} cannot be loaded: {type(error).__name__}: {error}"
        else:
            if inspect.iscoroutinefunction(found) or inspect.isasyncgenfunction(found):
                yield "function", f"{self.function!r} is an async function; expected a plain one"

    def in_folder(self, folder: Path) -> Self:
        """Return the same with the whole path of its file."""
        file, colon, name = self.function.rpartition(":")
        if not file.endswith(".py"):
            return self
        return msgspec.structs.replace(self, function=f"{folder.absolute() / file}{colon}{name}")

    def _found(self) -> Callable[[Given, Sample], Any]:
        place, _, name = self.function.rpartition(":")
        if not place:
            raise ValueError('expected "file.py:name" or "package.module:name"')
        found = getattr(
            _loaded(place, _changed_at(place)) if place.endswith(".py") else importlib.import_module(place), name, None
        )
        if not callable(found):
            raise ValueError(f"it has no function {name!r}")
        return found  # type: ignore[no-any-return]  # what it returns is looked at


_ALONE = threading.RLock()


@contextlib.contextmanager
def _printing_aside() -> Iterator[None]:
    """Send what a user's code prints to standard error, as standard output may be a command's JSON."""
    with _ALONE, contextlib.redirect_stdout(sys.stderr):  # alone: two threads would restore each other's stream
        yield


def _changed_at(path: str) -> int:
    return Path(path).stat().st_mtime_ns if Path(path).is_file() else 0


@cache
def _loaded(path: str, changed_at: int) -> ModuleType:
    """Return a file as a module of its own, run once, and again where it changed."""
    name = f"_custom_scorer_{Path(path).stem}_{changed_at}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


_NO_SCORE = f"{FAILED}the function returned "
"""How a reason begins where a function returned something else than a score."""


def _as_score(said: Any) -> Score:
    reason = extracted = None
    if isinstance(said, Mapping):
        unknown = sorted(map(str, said.keys() - {"value", "reason", "extracted"}))
        if unknown or "value" not in said:
            return Score(None, f"{_NO_SCORE}an object with {', '.join(map(str, said)) or 'nothing'}, not with value")
        said, reason, extracted = said["value"], said.get("reason"), said.get("extracted")
    words = "" if reason is None else str(reason)[:_MOST_REASON_CHARS]
    shown = None if extracted is None else str(extracted)
    if said is None:
        return Score(None, words or "the function did not judge it", shown)
    try:
        value = float(said)
    except (TypeError, ValueError):
        return Score(None, f"{_NO_SCORE}{type(said).__name__}, not a number", shown)
    if not abs(value) <= MOST_SCORE:
        return Score(None, f"{_NO_SCORE}{value:g}: not a score", shown)
    return Score(value, words or "as the function says", shown)
