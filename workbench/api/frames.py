"""A ledger as tables for a notebook: pandas or Arrow, including what a run in progress has journalled so far."""

import contextlib
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from zoneinfo import ZoneInfo

import msgspec

import workbench.settings.clock as clock
from workbench.allowance.account import account_state
from workbench.allowance.readings import Reading, readings_of
from workbench.allowance.weights import weighing_of, weights_of
from workbench.api.arguments import as_several, named_as_arguments
from workbench.api.session import Target, ledger_to_read
from workbench.errors import Fault, InputError
from workbench.evaluation.agreements import RunAgreement, confusion_rows, figure_rows, run_agreement
from workbench.evaluation.comparison import (
    Comparison,
    ComparisonRequest,
    compare_sides,
    difference_row,
    load_input,
    per_right_row,
    slice_rows,
)
from workbench.evaluation.factors import Factors, effect_rows, grid_rows
from workbench.evaluation.run_figures import LAST, find_run
from workbench.ledger.queries import reading
from workbench.ledger.rows import JobOfRun, Provenance
from workbench.ledger.score_rows import RunScorer
from workbench.ledger.store import Ledger
from workbench.ledger.usage_rows import LedgerPeriod
from workbench.records.calls import CLUSTER, Usage
from workbench.routes.facts import RouteFacts
from workbench.routes.names import Episode
from workbench.routes.overview import AccountRoute, overview
from workbench.routes.probes import probed
from workbench.wording.comparisons import headline
from workbench.wording.factors import effect_lines
from workbench.wording.routes import attention_text

if TYPE_CHECKING:
    import pandas
    import pyarrow


Name = Literal["runs", "calls", "answers", "scores", "references", "usage", "tool_calls", "tags"]
_ALL_RUNS = 2**62
_MOMENT = "datetime64[us, UTC]"
_READING = Reading.__struct_fields__
_READING_TYPES = {
    **dict.fromkeys(("reading_id", "of_what", "said"), "string"),
    **dict.fromkeys(("read_at", "recorded_at"), _MOMENT),
    **dict.fromkeys(("share_low", "share_high", "units_low", "units_high", "total_units"), "float64"),
    "withdrawn": "bool",
}
_AGREEMENT_TYPES = {
    **dict.fromkeys(("run_id", "model"), "string"),
    "is_people": "bool",
    **dict.fromkeys(("scorer", "field", "label", "figure"), "string"),
    **dict.fromkeys(("value", "low", "high"), "float64"),
    "n": "int64",
}
_CONFUSION_TYPES = {
    **dict.fromkeys(("run_id", "model"), "string"),
    "is_people": "bool",
    **dict.fromkeys(("field", "target", "given", "kind"), "string"),
    "answers": "int64",
}
_PROBE_TYPES = {
    **dict.fromkeys(("run_id", "requested_model", "answers", "failure", "tools"), "string"),
    **dict.fromkeys(("thinks", "reports_usage", "keeps_cap"), "boolean"),  # each may be missing
    "latency_ms": "float64",
}


class Frames:
    """Tables of a ledger, read afresh at every call and released at once: a run never has to wait.

    Token counts and latencies are as recorded, missing where unknown; times are UTC; names end with their unit. Calls,
    answers, scores and tool calls join on `run_id` and `request_key`; a model with several prompts or settings has a
    `variant` for each.

    Args:
        ledger: Path of the DuckDB file, or the address of a team's ledger; by default the one of the folder.
        folder: Where to look for it; by default the working folder.

    Raises:
        InputError: There is no ledger.
    """

    def __init__(self, ledger: str | Path | None = None, *, folder: str | Path | None = None) -> None:
        where = Path.cwd() if folder is None else Path(folder)
        with named_as_arguments():
            self._ledger = ledger_to_read(Target(where, ledger=None if ledger is None else str(ledger)))

    def __repr__(self) -> str:
        return f"Frames({self._ledger.name!r})"

    def runs(self) -> "pandas.DataFrame":
        """Return one row per run, newest first: status, how its requests ended, tokens; `tags`,
        and `parameters` of its requests, as JSON.
        """
        return self._pandas("runs", None)

    def calls(self, run: str | None = None) -> "pandas.DataFrame":
        """Return one row per call that ended: `requested_model`, `served_model`, `outcome`, `latency_ms`,
        tokens, `tags` as JSON.

        `units` are what it drew of the allowance by the weights of its day, `price` what they cost by `price_per_unit` of
        `[allowance]`, each missing where that is not known; `hour` is that of `sent_at` in the zone of `[account] time_zone`.
        """
        return self._pandas("calls", run)

    def answers(self, run: str | None = None) -> "pandas.DataFrame":
        """Return one row per request, with `input`, `target` and the `answer` that the run uses, whoever paid for it.

        `sent_at`, `units`, `price` and `hour` are of the call that was paid for it, as `calls` has them. Every further column of
        the dataset is one of `metadata.NAME`: as JSON where its values are of several types, or are objects.
        """
        table = self.arrow("answers", run)
        metadata = [{} if row is None else json.loads(row) for row in table.column("metadata").to_pylist()]
        table = table.drop_columns("metadata")
        for name in dict.fromkeys(name for row in metadata for name in row):
            table = table.append_column(f"metadata.{name}", _column([row.get(name) for row in metadata]))
        return _as_pandas(table)

    def scores(self, run: str | None = None) -> "pandas.DataFrame":
        """Return one row per run, request and scorer; `value` is missing where an answer is unscored,
        and `state` says what that means.

        The mean of what is scored is over the rows whose `counts` is true: not over answers of fallbacks, which a job may leave
        out, nor over samples that were taken out. The mean of all asked is between the means of `low` and `high`.
        """
        return self._pandas("scores", run)

    def references(self, run: str | None = None) -> "pandas.DataFrame":
        """Return one row per run, scorer, reference point and sample: what scores without a model, such as a constant answer."""
        return self._pandas("references", run)

    def usage(self, run: str | None = None) -> "pandas.DataFrame":
        """Return one row per day, run and model: tokens reported, and the calls whose usage is unknown; days are those of
        `[account] time_zone`. Variants of a model are one row; `calls` has what each used.
        """
        return self._pandas("usage", run)

    def tool_calls(self, run: str | None = None) -> "pandas.DataFrame":
        """Return one row per tool call of an answer; `arguments` verbatim."""
        return self._pandas("tool_calls", run)

    def tags(self, run: str | None = None) -> "pandas.DataFrame":
        """Return one row per run and tag, to join with the others on `run_id`."""
        return self._pandas("tags", run)

    def compare(
        self,
        *runs: str,
        models: str | Sequence[str] = (),
        baseline: str | None = None,
        scorer: str | None = None,
        cluster: str = CLUSTER,
        on_fallback: Literal["exclude", "accept"] | None = None,
        by: str | None = None,
        margin: float | None = None,
    ) -> "pandas.DataFrame":
        """Return one row per difference from the baseline, as `workbench compare` tests it, with `says`, its line in words.

        Args:
            runs: The first of them is the baseline; none is the newest run with scores, whose models are
                compared.
            models: Only these, or this one, each with all of its variants, or one of them (`MODEL · VARIANT`).
            baseline: The model that the others are compared with.
            scorer: By which the answers are compared.
            cluster: The column of the dataset whose values tell which samples belong together.
            on_fallback: Whether answers of other models count; by default as the job says.
            by: A further column of the dataset: one row per difference and value of it, as tested among its samples.
            margin: How much worse than the baseline is acceptable; by default as the job says.

        Raises:
            InputError: There is no such run, model, scorer or column, or nothing to compare.
        """
        import pandas

        chosen = list(as_several(models, "models"))
        if isinstance(margin, str):  # a notebook has no type checker
            raise InputError(Fault("margin", f"expected a number, found {margin!r:.60}", "0.02 for 2 points"))
        wanted = ComparisonRequest(list(runs), chosen, baseline, scorer, cluster, on_fallback, by, margin)
        found = self._compared(wanted)
        return pandas.DataFrame(
            [
                difference_row(one, found) | per_right_row(one.side, found) | {"says": headline(one, found)}
                for one in found.differences
            ]
            if wanted.by is None
            else slice_rows(found)
        )

    def agreement(self, run: str = LAST) -> "pandas.DataFrame":
        """Return one row per model, field and figure: how far a run's answers agree with its targets, as `workbench show` has it.

        `value` is of the `n` answers that are known, `low` and `high` of its 95 % interval, whatever the unknown ones are.
        Figures of a class have its name as `label`. A second annotator has the name of the column as `model`, and `is_people`.
        Empty where nothing can be set beside the targets (`workbench help scorers`).

        Args:
            run: An id, the beginning of one, or `last`.

        Raises:
            InputError: There is no such run.
        """
        import pandas

        frame = pandas.DataFrame(figure_rows(self._agreement(run)), columns=list(_AGREEMENT_TYPES))
        return frame.astype(_AGREEMENT_TYPES)

    def confusion(self, run: str = LAST) -> "pandas.DataFrame":
        """Return one row per model, field, target and given label: how many answers gave it, where targets are few classes.

        `kind` is `label`, or `another label` or `no label`, which have no `given`. Empty where no labels are read.

        Args:
            run: An id, the beginning of one, or `last`.

        Raises:
            InputError: There is no such run.
        """
        import pandas

        frame = pandas.DataFrame(confusion_rows(self._agreement(run)), columns=list(_CONFUSION_TYPES))
        return frame.astype(_CONFUSION_TYPES)

    def _agreement(self, run: str) -> RunAgreement | None:
        with reading(self._ledger) as reader:
            run_id = find_run(reader, run)
            scorers = reader.all(RunScorer, run_ids=[run_id])
            return run_agreement(reader, reader.only(Provenance, run_id=run_id), scorers)

    def grid(
        self, run: str | None = None, *, baseline: str | None = None, scorer: str | None = None
    ) -> "pandas.DataFrame":
        """Return one row per model and variant of a run that asked several of both, with its mean of asked and the 95 %
        interval; rows without a variant or a model are means over all of them.

        Args:
            run: By default the newest run with scores.
            baseline: The combination that the others are compared with.
            scorer: By which the answers are compared.

        Raises:
            InputError: There is no such run, baseline or scorer, or it has not two models and two variants.
        """
        import pandas

        return pandas.DataFrame(grid_rows(self._factors(run, baseline, scorer)))

    def effects(
        self, run: str | None = None, *, baseline: str | None = None, scorer: str | None = None
    ) -> "pandas.DataFrame":
        """Return one row per main effect of such a run, and per interaction of a variant with a model, as `workbench compare`
        tests them, with `says`, its line in words.

        Args:
            run: By default the newest run with scores.
            baseline: The combination whose model and variant the others are compared with.
            scorer: By which the answers are compared.

        Raises:
            InputError: There is no such run, baseline or scorer, or it has not two models and two variants.
        """
        import pandas

        factors = self._factors(run, baseline, scorer)
        rows = zip(effect_rows(factors), effect_lines(factors), strict=True)
        return pandas.DataFrame([row | {"says": says} for row, says in rows])

    def _compared(self, wanted: ComparisonRequest) -> Comparison:
        weighing = weighing_of(self._ledger.allowance, self._ledger.zone)
        with named_as_arguments(), reading(self._ledger) as reader:
            return compare_sides(load_input(reader, wanted, weighing), wanted)

    def _factors(self, run: str | None, baseline: str | None, scorer: str | None) -> Factors:
        """Return the grid of a run."""
        found = self._compared(ComparisonRequest([run] if run else [], baseline=baseline, scorer=scorer))
        if found.factors is None:
            hint = "a job with several [[variants]] and models has one"
            raise InputError(Fault("", f"run {found.runs[0].run_id} has no grid of models and variants", hint))
        return found.factors

    def readings(self) -> "pandas.DataFrame":
        """Return one row per reading of the allowance (`workbench allowance reading`); shares are from 0 to 1 of the total."""
        import pandas

        with reading(self._ledger) as reader:
            found = pandas.DataFrame([msgspec.structs.asdict(one) for one in readings_of(reader)], columns=_READING)
        return found.astype(_READING_TYPES)

    def allowance(self) -> "pandas.DataFrame":
        """Return what was used since the window of the allowance began, at every midnight and reading,
        as `workbench allowance` has it.

        `seen_units` by the ledger's own calls; `used_low_units` and `used_high_units` with what others used, missing where no
        reading says. Empty where workbench.toml names no window.
        """
        import pandas

        with reading(self._ledger) as reader:
            state = account_state(reader, self._ledger.allowance, self._ledger.zone, clock.now())
        rows = [(one.at, one.seen, one.low, one.high) for one in state.course]
        figures = ("seen_units", "used_low_units", "used_high_units")
        found = pandas.DataFrame(rows, columns=["at", *figures])
        return found.astype({"at": _MOMENT} | dict.fromkeys(figures, "float64"))

    def routes(self) -> "pandas.DataFrame":
        """Return one row per route that was asked, as `workbench routes` has it; shares are from 0 to 1, latencies in ms."""
        import pandas

        with reading(self._ledger) as reader:
            found = overview(reader, self._ledger.zone, reader.only(LedgerPeriod))
        rows = [
            one.as_row() | {"attention": "; ".join(map(attention_text, one.attention)) or None} for one in found.routes
        ]
        frame = pandas.DataFrame(rows, columns=AccountRoute.columns()).rename(
            columns={"model": "requested_model", "cap": "max_tokens"}
        )
        return _in_utc(frame, "first_at", "last_at", "listed_at")

    def substitutions(self) -> "pandas.DataFrame":
        """Return one row per requested model, model that answered in its place, and days in a row on which it did."""
        import pandas

        with reading(self._ledger) as reader:
            found = overview(reader, self._ledger.zone, reader.only(LedgerPeriod)).episodes
        rows = [msgspec.structs.asdict(one) for one in found]
        frame = pandas.DataFrame(rows, columns=Episode.__struct_fields__).rename(columns={"model": "requested_model"})
        return _in_utc(frame.astype({"answers": "int64"}), "first_at", "last_at")

    def probes(self) -> "pandas.DataFrame":
        """Return one row per probe and route: what it found (`workbench probe`); what is missing, it did not show."""
        import pandas

        with reading(self._ledger) as reader:
            found = probed(reader).probes
        columns = ["run_id", "started_at", "requested_model", *RouteFacts.__struct_fields__]
        rows = [
            (probe.run_id, probe.started_at, model, *msgspec.structs.astuple(facts))
            for probe in found
            for model, facts in probe.routes.items()
        ]
        return _in_utc(pandas.DataFrame(rows, columns=columns).astype(_PROBE_TYPES), "started_at")

    def arrow(self, name: Name, run: str | None = None) -> "pyarrow.Table":
        """Return the same as an Arrow table.

        Args:
            name: Of the method that gives it as pandas.
            run: Only this run's; `runs` takes none.

        Raises:
            ValueError: There is no such table, or it takes no run.
            InputError: There is no such run.
        """
        if name not in get_args(Name):
            raise ValueError(f"there is no table {name!r}; these are: {', '.join(get_args(Name))}")
        if name == "runs" and run is not None:
            raise ValueError(f"the table 'runs' has every run; take the one whose run_id is {run!r} from it")
        with named_as_arguments(), reading(self._ledger) as reader:
            found = None if run is None else find_run(reader, run)
            parameters: dict[str, Any] = {"most": _ALL_RUNS, "run_ids": None} if name == "runs" else {"run_id": found}
            table = reader.arrow(name, **parameters)
            if name == "runs":
                texts = {job.run_id: job.job_toml for job in reader.all(JobOfRun)}
                table = _with_parameters(_with_tags(table), texts)
            return _with_units(table, self._ledger) if name in ("calls", "answers") else table

    def _pandas(self, name: Name, run: str | None) -> "pandas.DataFrame":
        return _as_pandas(self.arrow(name, run))


def _with_units(calls: "pyarrow.Table", ledger: Ledger) -> "pyarrow.Table":
    """Return calls with what each drew, its price, and the hour in which it was sent, in the account's zone."""
    import pyarrow

    weights, zone, price = (
        weights_of(ledger.allowance, ledger.zone),
        ZoneInfo(ledger.zone),
        ledger.allowance.price_per_unit,
    )
    units, hours = list[float | None](), list[int | None]()
    columns = (calls.column(name).to_pylist() for name in ("requested_model", "sent_at", *Usage.__struct_fields__))
    for model, at, *tokens in zip(*columns, strict=True):
        units.append(None if at is None else weights.of_call(model, at, Usage(*tokens)))
        hours.append(None if at is None else at.astimezone(zone).hour)
    prices = [None if price is None or drawn is None else price * drawn for drawn in units]
    for name, values, kind in (
        ("units", units, pyarrow.float64()), ("price", prices, pyarrow.float64()), ("hour", hours, pyarrow.int64()),
    ):  # fmt: skip
        calls = calls.append_column(name, pyarrow.array(values, kind))
    return calls


def _as_pandas(table: "pyarrow.Table") -> "pandas.DataFrame":
    """Return the same with Arrow's types: whole numbers stay whole where some are missing."""
    import pandas

    return table.to_pandas(types_mapper=pandas.ArrowDtype)


def _column(values: list[Any]) -> "pyarrow.Array":
    """Values of JSON as Arrow has them where they are of one type, and as JSON where not."""
    import pyarrow

    if not any(map(_has_object, values)):  # an object's keys may be others in each row
        with contextlib.suppress(pyarrow.ArrowException, OverflowError):  # of several types, or beyond 64 bits
            found = pyarrow.array(values)
            return found.cast(pyarrow.string()) if pyarrow.types.is_null(found.type) else found
    texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
    return pyarrow.array(texts, pyarrow.string())


def _has_object(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_has_object, value)))


def _with_tags(runs: "pyarrow.Table") -> "pyarrow.Table":
    """Return runs with their tags as JSON, as calls and usage have them: a map is nothing to group or sort by."""
    import pyarrow

    place = runs.column_names.index("tags")
    written = [
        None if tags is None else json.dumps(dict(tags), ensure_ascii=False, separators=(",", ":"))
        for tags in runs.column("tags").to_pylist()
    ]
    return runs.set_column(place, "tags", pyarrow.array(written, pyarrow.string()))


def _in_utc(frame: "pandas.DataFrame", *moments: str) -> "pandas.DataFrame":
    """Return the same with times that say that they are UTC, as those of the other tables do."""
    import pandas

    present = [name for name in moments if name in frame]
    return frame.assign(**{name: pandas.to_datetime(frame[name], utc=True).astype(_MOMENT) for name in present})


def _with_parameters(runs: "pyarrow.Table", job_files: dict[str, str]) -> "pyarrow.Table":
    """Return runs with what their job files say of every request, as JSON."""
    import pyarrow

    requests = [tomllib.loads(job_files[run_id]).get("request", {}) for run_id in runs.column("run_id").to_pylist()]
    parameters = [json.dumps(request, default=str) for request in requests]
    return runs.append_column("parameters", pyarrow.array(parameters, pyarrow.string()))
