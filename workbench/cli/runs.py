"""`workbench runs | show | report`: what was recorded of runs."""

import sys
import webbrowser
from collections.abc import Iterable, Sequence
from typing import Any

import click
import msgspec
from tqdm import tqdm

import workbench.display.commands as commands
import workbench.settings.clock as clock
from workbench.api.session import ledger_to_read, pages_folder
from workbench.cli import options
from workbench.cli.output import echo, print_json, print_json_lines, print_table, say
from workbench.cli.run_screen import print_agreement, print_findings
from workbench.display.columns import Column, column, columns
from workbench.display.text import count
from workbench.evaluation.agreements import RunAgreement
from workbench.evaluation.alarms import open_alarms
from workbench.evaluation.latest import not_completed_later
from workbench.evaluation.ongoing import NOT_ENDED, RUNNING, as_now, reading_with_ongoing, status_now
from workbench.evaluation.ranking import BestAndWorst, best_and_worst
from workbench.evaluation.references import reference_objects
from workbench.evaluation.run_figures import find_run, run_figures, run_summary, score_objects
from workbench.evaluation.run_samples import run_samples
from workbench.ledger.answer_rows import WholeSample
from workbench.ledger.job_rows import ModelMean, RunLine, run_means
from workbench.ledger.queries import reading
from workbench.ledger.rows import Provenance, RunId
from workbench.ledger.run_rows import RunGate, RunOutcome, RunTokens, SuspectSample
from workbench.ledger.score_rows import Acceptance
from workbench.records.endings import SETTLED
from workbench.wording.agreements import NO_AGREEMENT
from workbench.wording.changes import alarm_objects, open_lines
from workbench.wording.factors import factors_object
from workbench.wording.gates import outdated_text, recorded_text
from workbench.wording.runs import because_text, requests_text, resume_text, to_judge_text, to_judge_words
from workbench.wording.scores import range_text

_ALL = 2**62
_MOST_RUNS = 20
_SPARE = (
    "started_at", "failed", "total_tokens", "duration_s", "planned", "worst_model", "best_model", "answered", "worst", "scorer",
)  # fmt: skip
"""What leaves the list first where it is narrow; an id begins with the start, and a mean says little without its scorer."""
_CALL_FIELDS = (
    "request_key sample_id epoch requested_model variant served_model identity identity_evidence outcome http_status attempts "
    "latency_ms prompt_tokens completion_tokens reasoning_tokens total_tokens finish_reason answer reasoning tool_calls "
    "evidence error_text scores"
).split()


_LISTED = (
    "sample_id", "epoch", "requested_model", "variant", "served_model", "outcome", "latency_ms", "total_tokens",
)  # fmt: skip
_SNIPPET_CHARS = 76

_NOTHING_LEFT = (RUNNING, *SETTLED)
"""What a run is of which no request waits for a rerun."""


@click.command()
@options.ledger
@click.option(
    "--limit", "--most", "most", metavar="N", type=click.IntRange(1),
    help="How many, newest first [default: 20, with --json all].",
)  # fmt: skip
@options.as_json
def runs(most: int | None, as_json: bool, **given: Any) -> None:
    """List the runs of a ledger, newest first; best and worst are means of what is ranked, by its job's first scorer."""
    where = options.where(given)
    ledger = ledger_to_read(where)
    with reading_with_ongoing(ledger) as (reader, going_on):
        in_all = len(reader.all(RunId))
        most = most or (in_all if as_json else _MOST_RUNS)
        rows = as_now(reader.all(RunLine, most=most, run_ids=None), going_on)
        every = reader.all(ModelMean, most=most, run_ids=None)
        standing = open_alarms(reader)
        unfinished = [row.run_id for row in not_completed_later(rows) if row.status not in _NOTHING_LEFT]
        began = reader.only(Provenance, run_id=unfinished[0]) if unfinished else None
    means, ends = {one.run_id: one for one in run_means(every)}, best_and_worst(every)
    if as_json:
        own = {row.job: alarm_objects([one for one in standing if one.job == row.job]) for row in rows}
        print_json(
            [
                msgspec.structs.asdict(row)
                | _means(means.get(row.run_id))
                | _ends(ends.get(row.run_id))
                | {"open_alarms": own[row.job]}
                for row in rows
            ]
        )
        return
    shown = columns(
        "run_id", "job", "status", "started_at", "duration_s", "planned", "answered", "failed", "total_tokens", "best",
        "best_model", "worst", "worst_model", "scorer",
    )  # fmt: skip
    print_table(
        [_in_short(row, means.get(row.run_id), ends.get(row.run_id)) for row in rows],
        shown,
        whole=("run_id", "status", "best_model", "worst_model"),
        spare=_SPARE,
    )
    if len(rows) < in_all:
        say(f"{len(rows)} of {count(in_all)} runs; --limit N shows more")
    if began is not None:
        shows = commands.command("show", began.run_id, *options.words(where))
        say(f"`{shows}` shows what is missing; continue with: {resume_text(began, ledger.name)}")
    for line in open_lines(standing, ledger.name):
        say(line)


def _means(found: ModelMean | None) -> dict[str, float | str | None]:
    """Return the mean score of a run, of what is known, and between which it is of all asked."""
    if found is None:
        return dict.fromkeys(("scorer", "mean_score", "mean_score_at_worst", "mean_score_at_best"))
    return {
        "scorer": found.scorer,
        "mean_score": found.mean,
        "mean_score_at_worst": found.at_worst,
        "mean_score_at_best": found.at_best,
    }


def _ends(found: BestAndWorst | None) -> dict[str, dict[str, Any] | None]:
    """Return what has the best and the worst mean in a run, each with its own."""
    if found is None:
        return {"best": None, "worst": None}
    shown = ("model", "mean", "at_worst", "at_best")
    return {name: {key: getattr(one, key) for key in shown} for name, one in found._asdict().items()}


def _in_columns(name: str, one: ModelMean | None) -> dict[str, str | None]:
    """Return a mean and whose it is, each in a column: a number in a column of its own is never cut."""
    if one is None:
        return {name: None, f"{name}_model": None}
    return {name: range_text(one.mean, one.at_worst, one.at_best), f"{name}_model": one.model}


def _in_short(row: RunLine, mean: ModelMean | None, found: BestAndWorst | None) -> dict[str, Any]:
    """Return a run as a line of a table."""
    taken_s = row.duration_s
    if row.status == RUNNING:
        taken_s = (clock.now() - row.started_at).total_seconds()
    return msgspec.structs.asdict(row) | {
        "status": row.status or NOT_ENDED,
        "duration_s": taken_s,
        **_in_columns("best", None if found is None else found.best),
        **_in_columns("worst", None if found is None or found.worst is found.best else found.worst),
        "scorer": None if mean is None else mean.scorer,
    }


@click.command()
@options.optional_run_id
@options.ledger
@click.option("--calls", is_flag=True, help="List its calls, one per line.")
@click.option(
    "--suspects", is_flag=True, help="List samples whose target may be wrong: most models agree on another answer."
)
@click.option("--agreement", is_flag=True, help="Print how far its answers agree with the targets, class by class.")
@options.as_json
def show(run: str | None, calls: bool, suspects: bool, agreement: bool, as_json: bool, **given: Any) -> None:
    """Show RUN: how it went, its scores and what it cost.

    RUN is a run's id, the beginning of an id, or `last` (the default).
    """
    if calls + suspects + agreement > 1:
        raise click.UsageError("give only one of --calls, --suspects and --agreement")
    where = options.where(given)
    ledger = ledger_to_read(where)
    with reading_with_ongoing(ledger) as (reader, going_on):
        run = find_run(reader, run)
        figures, gates = run_figures(reader, run), reader.all(RunGate, run_id=run)
        accepted = reader.all(Acceptance, job=figures.provenance.job)
        outdated = outdated_text(gates, figures.taken_out, figures.corrected, accepted)
        standing = open_alarms(reader, figures.provenance.job)
        status = status_now(run, figures.provenance.status, going_on)
        if suspects:
            found = reader.all(SuspectSample, run_id=run, scorer=figures.standing.scorer or "")
            _print_suspects(found, figures.provenance, as_json)
            return
        if calls:
            _print_calls(run_samples(reader, run, _ALL), figures.standing.scorer, as_json)
            return
    if agreement:
        _print_agreement(figures.agreement, as_json)
        return
    summary = run_summary(figures, ledger.name)
    if as_json:
        print_json(
            summary.as_object()
            | {"status": status, "scores": score_objects(figures), "gates": [_gate(one) for one in gates]}
            | {"references": reference_objects(figures.standing.references)}
            | {"factors": factors_object(figures.standing.factors)}
            | {"agreement": msgspec.to_builtins(figures.agreement)}
            | {"corrected_targets": msgspec.to_builtins(figures.corrected)}
            | {"broken_scorers": msgspec.to_builtins(figures.broken), "open_alarms": alarm_objects(standing)}
        )
        return
    echo(f"{summary.run_id}  {summary.job}  {status or NOT_ENDED}{because_text(summary)}")
    echo(f"{requests_text(summary)}\n")
    _print_made(figures.outcomes, columns("model", "outcome", "calls"))
    print_findings(figures)
    _print_gates(gates, outdated)
    echo()
    if figures.agreement is not None:
        print_agreement(figures.agreement)
    tokens = ("prompt_tokens", "completion_tokens", "total_tokens")
    _print_made(figures.tokens, columns("model", "calls", *tokens, "calls_without_usage"))
    if status not in _NOTHING_LEFT:
        say(f"continue with: {resume_text(figures.provenance, summary.ledger)}")
    if to_judge := to_judge_text(figures):
        there = options.words(msgspec.structs.replace(where, local=False))  # the run says itself that it was
        say(f"{to_judge}: `{commands.command(*to_judge_words(figures), *there)}`")
    for line in open_lines(standing, ledger.name, named=False):
        say(line)
    say(f"page: `{commands.command('report', run, *options.words(where))}` writes it")


def _print_made(rows: Sequence[RunOutcome | RunTokens], shown: Sequence[Column]) -> None:
    """Print what a run's own calls came to; one that reuses all its answers made none."""
    if rows:
        print_table(rows, shown)


def _print_agreement(found: RunAgreement | None, as_json: bool) -> None:
    if as_json:
        print_json(found)
    elif found is None:
        say(f"no agreement to show: {NO_AGREEMENT}")
    else:
        print_agreement(found, by_class=True)


def _print_gates(gates: Sequence[RunGate], outdated: str) -> None:
    for gate in gates:
        echo(f"gate {gate.gate} {gate.result}: {recorded_text(gate)}")
    if outdated:
        echo(outdated)


def _gate(row: RunGate) -> dict[str, Any]:
    """Return what a gate found, in words and as values."""
    evidence = None if row.evidence is None else msgspec.json.decode(row.evidence)
    return msgspec.structs.asdict(row) | {"reason": recorded_text(row), "evidence": evidence}


def _print_calls(rows: Iterable[WholeSample], scorer: str | None, as_json: bool) -> None:
    if as_json:
        print_json_lines({name: _call_value(name, getattr(row, name)) for name in _CALL_FIELDS} for row in rows)
        return
    lines, others = [], dict[str, None]()
    for row in rows:  # of long texts no more than some at a time fit into memory
        values = {score["scorer"]: score["value"] for score in row.scores or []}
        others |= dict.fromkeys(name for name in values if name != scorer)
        answer = " ".join((row.answer or row.error_text or "").split())[:_SNIPPET_CHARS]
        kept = {name: getattr(row, name) for name in _LISTED}
        lines.append(kept | {"score": values.get(scorer or ""), "answer": answer})
    shown = columns(*_LISTED[:6], column("score", scorer or "score"), *_LISTED[6:], "answer")
    same = {"variant"} if all(line["variant"] is None for line in lines) else set()
    same |= {"epoch"} if all(line["epoch"] == 1 for line in lines) else set()
    print_table(
        lines,
        [one for one in shown if one.name not in same],
        whole=("requested_model", "served_model"),
        spare=("latency_ms", "total_tokens", "served_model"),
    )
    if others:
        say(f"no column for {', '.join(others)}; --json has every score")


def _print_suspects(rows: list[SuspectSample], run: Provenance, as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    if rows:
        most = (column("answer", "majority"), column("agree", "models"), column("models", "of"))
        print_table(rows, columns("sample_id", "target", *most), whole=("sample_id",))
        out = commands.command("invalidate", run.run_id, "--sample", "ID", "--reason", "TEXT")
        shows = commands.corrected_targets(run.job_path)
        say(f"where a target is wrong, correct it in the dataset: `{shows}` shows which runs it concerns")
        say(f"where nothing is right: `{out}`")
    else:
        say("no sample has most of three or more models agree on an answer that is not its target")


@click.command()
@options.optional_run_id
@click.option("--all", "every", is_flag=True, help="Render the pages of every run, not only the newest.")
@options.ledger
@options.reports
@options.to_send
@click.option("--open", "is_opened", is_flag=True, help="Open the page in a browser.")
@options.as_json
def report(run: str | None, every: bool, is_opened: bool, as_json: bool, **given: Any) -> None:
    """Render the page of RUN, or of the newest run, and those over the whole ledger: runs, allowance, routes.

    RUN is a run's id, the beginning of an id, or `last`.
    """
    from workbench.report.ledger_pages import every_run, newest_run, single_page, write_pages

    if run and every:
        raise click.UsageError("give a RUN or --all, not both")
    single = options.single_file(given)
    if single and every:
        raise click.UsageError("give --single-file or --all, not both")
    where = options.where(given)
    ledger = ledger_to_read(where)
    if run or single:
        with reading(ledger) as reader:
            run = find_run(reader, run or "last")
    wanted = [run] if run else every_run(ledger) if every else newest_run(ledger)
    folder = pages_folder(where, ledger, given["reports"])
    show = every and sys.stderr.isatty()
    with tqdm(total=len(wanted), unit=" pages", disable=not show) as bar:
        if single:
            paths = [single_page(ledger, wanted[0], folder, single)]
        else:
            paths = write_pages(ledger, wanted, folder, each=lambda _: bar.update())
    opened = paths[0] if wanted and not every else paths[-3]
    if as_json:
        run_id = wanted[0] if wanted else None
        print_json({"run_id": run_id, "report": str(opened), "pages": list(map(str, paths))})
    else:
        echo(str(opened))
    if is_opened and not webbrowser.open(opened.as_uri()):
        say("no browser could be started")


def _call_value(name: str, value: Any) -> Any:
    if name == "tool_calls":
        return value or []
    if name == "scores":
        return {score["scorer"]: score["value"] for score in value or []}
    return value
