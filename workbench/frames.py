"""A ledger as tables for a notebook: pandas or Arrow, with what a run that goes on has journalled so far."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from workbench.evaluation.run_figures import find_run
from workbench.ledger.queries import reading
from workbench.session import Where, ledger_to_read

if TYPE_CHECKING:
    import pandas
    import pyarrow

Name = Literal["runs", "calls", "answers", "scores", "usage"]
_ALL_RUNS = 2**62


class Frames:
    """Tables of a ledger, read anew at every call and let go at once: a run is never kept waiting.

    Token counts and latencies are as recorded, missing where unknown; times are UTC; a unit stands at the end of a name.

    Args:
        ledger: Path of the DuckDB file; by default the one in the folder.
        folder: Where to look for it; by default the working folder.

    Raises:
        InputError: There is no ledger.
    """

    def __init__(self, ledger: str | Path | None = None, *, folder: str | Path | None = None) -> None:
        named = None if ledger is None else str(ledger)
        self._ledger = ledger_to_read(Where(Path.cwd() if folder is None else Path(folder), ledger=named))

    def __repr__(self) -> str:
        return f"Frames({str(self._ledger.path)!r})"

    def runs(self) -> "pandas.DataFrame":
        """One row a run, newest first: status, what became of its requests, `total_tokens`, `duration_s`."""
        return self._pandas("runs", None)

    def calls(self, run: str | None = None) -> "pandas.DataFrame":
        """One row a call that ended: `requested_model`, `served_model`, `outcome`, `latency_ms`, tokens.

        Args:
            run: Only the calls of this run: its id, the beginning of it, or `last`.
        """
        return self._pandas("calls", run)

    def answers(self, run: str | None = None) -> "pandas.DataFrame":
        """One row a request of a run, with `input`, `target` and the `answer` that the run uses, whoever paid for it."""
        return self._pandas("answers", run)

    def scores(self, run: str | None = None) -> "pandas.DataFrame":
        """One row a run, request and scorer; `value` is missing where an answer is unscored."""
        return self._pandas("scores", run)

    def usage(self, run: str | None = None) -> "pandas.DataFrame":
        """One row a UTC day, run and model: tokens reported, and the calls whose draw is unknown."""
        return self._pandas("usage", run)

    def arrow(self, name: Name, run: str | None = None) -> "pyarrow.Table":
        """The same as an Arrow table.

        Args:
            name: Of the method that gives it as pandas.
            run: Only this run's; `runs` takes none.

        Raises:
            ValueError: There is no such table.
            InputError: There is no such run.
        """
        if name not in get_args(Name):
            raise ValueError(f"there is no table {name!r}; these are: {', '.join(get_args(Name))}")
        with reading(self._ledger) as reader:
            found = None if run is None else find_run(reader, run)
            parameters: dict[str, Any] = {"most": _ALL_RUNS, "run_ids": None} if name == "runs" else {"run_id": found}
            return reader.arrow(name, **parameters)

    def _pandas(self, name: Name, run: str | None) -> "pandas.DataFrame":
        import pandas

        return self.arrow(name, run).to_pandas(types_mapper=pandas.ArrowDtype)
