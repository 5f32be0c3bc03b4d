"""Tables and figures on a page, each cell with the query, row and column that it comes from."""

import re
from collections.abc import Callable, Container, Sequence
from datetime import date, datetime
from hashlib import sha256
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

import msgspec
from markupsafe import Markup, escape

import workbench.display.text as people
from workbench.display.columns import Column, column
from workbench.evaluation.attention import ANOTHER
from workbench.evaluation.ongoing import NOT_ENDED, RUNNING
from workbench.records.outcomes import EFFECTS
from workbench.wording.routes import no_name_text

T = TypeVar("T")


class Result(msgspec.Struct, Generic[T], frozen=True):
    """A named query's answer: its rows, or dictionaries where a table shows more than the query says."""

    query: str
    parameters: dict[str, Any]
    rows: Sequence[T]


def value_of(row: Any, column: str, default: Any = None) -> Any:
    """Return what a row has in a column; the default where it has no such column."""
    return row.get(column, default) if isinstance(row, dict) else getattr(row, column, default)


class Table(msgspec.Struct, frozen=True):
    """A query's rows as people read them."""

    name: str
    """Unique on its page: the page's URL keeps its sort order under this name."""
    result: Result[Any]
    keys: tuple[str, ...]
    """Columns that identify a row of the query."""
    columns: tuple[Column, ...]
    linked: frozenset[str] = frozenset()
    """Pages in the same folder, by their names without the ending: those of runs and jobs are linked."""
    chosen_by: str = ""
    """The column of which a reader may choose the rows with one of its marks; empty: none."""

    @property
    def place_of_choice(self) -> int:
        """The place of that column among the others; -1 where there is none."""
        return next((place for place, one in enumerate(self.columns) if one.name == self.chosen_by), -1)

    @property
    def parameters(self) -> Markup:
        """The query's parameters as JSON."""
        return _json_attribute(self.result.parameters)

    def key(self, row: Any) -> Markup:
        """Return the columns that identify a row, as JSON."""
        return _json_attribute({key: value_of(row, key) for key in self.keys})

    def cell(self, row: Any, column: Column) -> Markup:
        """Return one cell's content."""
        value = value_of(row, column.name)
        if column.is_figure:
            return _number(value, column.shown(value))
        if column.kind in _OF_VALUE:
            return _OF_VALUE[column.kind](value)
        if column.kind in _OF_ROW:
            return _OF_ROW[column.kind](row)
        match column.kind:
            case "outcome":
                return outcome(value, accepted=value_of(row, "accepted", False))
            case "status":
                ended = {name: value_of(row, name, 0) for name in ("failed", "answered")}
                return status(value, value_of(row, "reason"), **ended)
            case "run":
                return self._to_run(row, value, "")
            case "sample":
                return self._to_run(row, value, urlencode({"sample": value}))
            case "began":
                return self._linked(str(value_of(row, "run_id")), moment(value))
            case "job":
                return job_link(str(value), self.linked)
            case _:
                return Markup("<bdi>{}</bdi>").format(people.visible("" if value is None else str(value)))

    def _to_run(self, row: Any, text: str, fragment: str) -> Markup:
        run_id = value_of(row, "run_id")
        whole = Markup(' class="whole"') if text == run_id else ""
        return self._linked(str(run_id), Markup("<bdi{}>{}</bdi>").format(whole, people.visible(text)), fragment)

    def _linked(self, page: str, shown: Markup, fragment: str = "") -> Markup:
        """Return what leads to a page, where that is there."""
        if page not in self.linked:
            return shown
        return Markup('<a href="{}.html{}">{}</a>').format(page, fragment and f"#{fragment}", shown)


def figure(result: Result[Any], row: Any, name: str, kind: str, *keys: str) -> Markup:
    """Return a figure with its exact value, which the page's script shows on hover.

    Args:
        kind: How it is shown; see `Column.kind`.
        *keys: Columns that identify the row in the query.
    """
    source = {"query": result.query, "parameters": result.parameters, "row": {key: value_of(row, key) for key in keys}}
    value = value_of(row, name)
    place = f' data-column="{escape(name)}" data-source={_json_attribute(source)}'
    return _number(value, column(name, kind=kind).shown(value), place)


def _number(value: Any, shown: str, place: str = "") -> Markup:
    exact = "" if value is None else str(value)
    # thousands of them are most of a page's time: `Markup.format` takes twice as long
    return Markup(f'<data value="{escape(exact)}"{place}>{escape(shown)}</data>')


def _json_attribute(value: Any) -> Markup:
    """Return a value as JSON for an attribute, in single quotes: in double ones it is half as long again."""
    text = msgspec.json.encode(value, enc_hook=str).decode()
    return Markup("'" + text.replace("&", "&amp;").replace("<", "&lt;").replace("'", "&#39;") + "'")


def heading(of: str | Column, text: str = "", kind: str = "") -> Markup:
    """Return the head of a column: a declared one by its name."""
    shown = column(of, text, kind) if isinstance(of, str) else of
    attributes = Markup(' class="n"') if shown.is_figure else Markup("")
    attributes += Markup("") if shown.is_sortable else Markup(" data-unsorted")
    attributes += Markup(' title="{}"').format(shown.help) if shown.help else Markup("")
    return Markup('<th scope="col" data-column="{}"{}>{}</th>').format(shown.name, attributes, shown.heading)


def moment(at: datetime | date | None) -> Markup:
    """Return a time in UTC; the page's script shows it to the minute in the account's zone, as charts and sentences have it."""
    if at is None:
        return escape(people.NOT_KNOWN)
    if not isinstance(at, datetime):
        return Markup('<time datetime="{0}">{0}</time>').format(at.isoformat())
    return Markup('<time datetime="{}" title="{}" data-zoned>{}</time>').format(
        at.isoformat(timespec="milliseconds"), people.moment(at), people.moment(at)
    )


def period(text: str) -> Markup:
    """Return a day or an hour in words, never broken across lines."""
    return Markup("<time>{}</time>").format(text)


_SCORABLE = frozenset(str(name) for name, follows in EFFECTS.items() if follows.scorable)


def outcome_kind(name: str | None, *, accepted: bool | None) -> str:
    """Return which of the four marks and colours an outcome has: ok, wasted (paid for and of no use), failed, unknown."""
    return "unknown" if name is None else "ok" if name in _SCORABLE else "wasted" if accepted else "failed"


def outcome(name: str | None, *, accepted: bool | None) -> Markup:
    """Return an outcome as a mark and a word."""
    kind = outcome_kind(name, accepted=accepted)
    return Markup('<span class="{}">{}</span>').format(kind, (name or "no answer yet").replace("_", " "))


def status_kind(name: str | None, *, failed: int, answered: int) -> str:
    """Return which of the four marks a run has: one that sent everything and was refused is not ok."""
    if name in (None, RUNNING):
        return "unknown"
    if name == "gate_failed" or (failed and not answered):
        return "failed"
    return "wasted" if name != "complete" or failed else "ok"


def status(name: str | None, reason: str | None = None, *, failed: int = 0, answered: int = 0) -> Markup:
    """Return a run's status as a mark and a word, with the reason of its end.

    Args:
        name: None of a run without a recorded end.
        failed: How many requests ended without an answer.
        answered: How many have one.
    """
    kind = status_kind(name, failed=failed, answered=answered)
    why = Markup(': <small class="soft">{}</small>').format(people.visible(reason)) if reason else ""
    return Markup('<span class="{}">{}</span>{}').format(
        kind, people.visible((name or NOT_ENDED).replace("_", " ")), why
    )


def served(row: Any) -> Markup:
    """Return who answered, beside who was asked, with the evidence of who that is."""
    name = value_of(row, "served_model")
    if name is None:
        return Markup("<i>not named</i>")
    if value_of(row, "identity") == "as_requested":
        return Markup('<span class="ok">the same</span>')
    shown = Markup("<bdi>{}</bdi>").format(people.visible(name))
    evidence = Markup(' <small class="soft">{}</small>').format(value_of(row, "evidence"))
    if value_of(row, "identity") in ANOTHER:
        return Markup('<span class="wasted">{}</span>').format(shown) + evidence
    return shown + evidence


def job_page_name(job: str) -> str:
    """Return the name of a job's page, without its ending; two jobs never share one."""
    readable = re.sub(r"[^a-z0-9]+", "-", job.lower()).strip("-")[:40]
    return f"job-{readable}-{sha256(job.encode()).hexdigest()[:8]}"


def job_link(job: str, pages: Container[str]) -> Markup:
    """Return a job's name, as a link to its page where that is among these.

    Args:
        pages: Their names, without the ending.
    """
    shown, page = Markup("<bdi>{}</bdi>").format(people.visible(job)), job_page_name(job)
    return Markup('<a href="{}.html">{}</a>').format(page, shown) if page in pages else shown


def card_link(model: str) -> Markup:
    """Return a route's name as a link to its card."""
    return Markup('<a href="#{}"><bdi>{}</bdi></a>').format(card_id(model), people.visible(model))


def card_id(model: str) -> str:
    """Return the id of a route's card on its page."""
    return "route-" + sha256(model.encode()).hexdigest()[:12]


def own_name(row: Any) -> Markup:
    """Return the name under which a route itself answers; whether anybody has confirmed it."""
    if value_of(row, "usual_name") is None:
        return Markup("<i>{}</i>").format(no_name_text(value_of(row, "answers"), value_of(row, "substituted")))
    if value_of(row, "usual_identity") == "as_requested":
        return Markup('<span class="ok">itself</span>')
    shown = Markup("<bdi>{}</bdi>").format(people.visible(value_of(row, "usual_name")))
    return (
        shown + Markup(' <small class="soft">not confirmed</small>')
        if value_of(row, "usual_identity") == "unknown"
        else shown
    )


def bars(values: Sequence[dict[str, Any]] | None) -> Markup:
    """Means from 0 to 1 as small bars, with their numbers on hover."""
    bar = Markup('<i style="height:{:.0f}%;background:{}" title="{}"></i>')
    drawn = Markup("").join(
        bar.format(100 * value["mean"], value["colour"], people.visible(value["label"])) for value in values or ()
    )
    label = people.visible("; ".join(value["label"] for value in values or ()))
    return Markup('<span class="bars" role="img" aria-label="{}">{}</span>').format(label or "unscored", drawn)


_OF_VALUE: dict[str, Callable[[Any], Markup]] = {"moment": moment, "period": period, "bars": bars, "card": card_link}
_OF_ROW: dict[str, Callable[[Any], Markup]] = {"served": served, "name": own_name}
