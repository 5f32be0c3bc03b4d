"""The columns that tables show, each declared once: its name is its key in JSON, in frames and in the query; its heading and kind
are the same on the terminal and on pages, but that on the terminal every head is one word, which the glossary explains.
"""

from collections.abc import Callable
from typing import Any

import msgspec

import workbench.display.text as people

_FIGURES: dict[str, Callable[[Any], str]] = {
    "count": people.count,
    "amount": people.amount,
    "ms": people.milliseconds,
    "seconds": people.duration,
    "share": people.percent,
    "number": people.significant,
}
_UNITS = {"ms": "ms", "seconds": "s", "moment": "UTC"}


class Column(msgspec.Struct, frozen=True):
    """One column of a table."""

    name: str
    heading: str
    kind: str = "count"
    """`count`, `amount`, `ms`, `seconds`, `share` and `number` are figures; `text`, `outcome`, `status`, `served`, `moment`,
    `began`, `period`, `job`, `run`, `sample`, `bars`, `card` and `name` are not; `plain` is as its values are."""
    help: str = ""
    """What the heading means: on hover; on the terminal below what usage is not known."""
    word: str = ""
    """The heading on the terminal, where that of pages has several words: heads are told apart by blanks there."""

    @property
    def head(self) -> str:
        """The heading on the terminal."""
        return self.word or self.heading

    @property
    def is_figure(self) -> bool:
        """Whether it holds numbers."""
        return self.kind in _FIGURES

    @property
    def is_sortable(self) -> bool:
        """Whether its cells have an order: drawings have none."""
        return self.kind != "bars"

    @property
    def unit(self) -> str:
        """The unit of its plain values; empty where they have none."""
        return _UNITS.get(self.kind, "")

    def shown(self, value: Any) -> str:
        """Return a figure as people read it."""
        return _FIGURES[self.kind](value)


def column(name: str, heading: str = "", kind: str = "", description: str = "", word: str = "") -> Column:
    """Return a declared column; one that is not declared has its name as its heading.

    Args:
        heading: Where the table's subject gives it another one.
        kind: Where the table shows it otherwise.
        description: Where it means more in that table.
        word: On the terminal, where that heading has several words.
    """
    found = DECLARED.get(name) or Column(name, name.replace("_", " "), "plain")
    word = word or ("" if heading else found.word)
    return Column(name, heading or found.heading, kind or found.kind, description or found.help, word)


def columns(*names: str | Column) -> tuple[Column, ...]:
    """Return declared columns in this order; what a table has of its own stands between them."""
    return tuple(column(one) if isinstance(one, str) else one for one in names)


DECLARED = {
    one.name: one
    for one in (
        # what is asked, and who answers
        Column("model", "model", "text"),
        Column("requested_model", "requested model", "text", word="requested"),
        Column("served_model", "served model", "served", word="served"),
        Column("usual_name", "answers as", "name", word="served"),
        Column("names", "answers as", "text", word="served"),
        Column("scorer", "scorer", "text"),
        Column("job", "job", "job"),
        Column("run_id", "run", "run"),
        Column("sample_id", "sample", "sample"),
        Column("occasion", "scheduled", "text"),
        Column("status", "status", "status"),
        Column("outcome", "outcome", "outcome"),
        Column("verdict_here", "judged", "text", "The verdict's word, and what it is worth"),
        Column(
            "verdict_there", "judged otherwise", "text", "By the other rubric, or when it was asked first", "otherwise"
        ),
        Column("changed", "changed", "text", "Since the run before"),
        # when
        Column("day", "day", "moment"),
        Column("started_at", "started", "moment"),
        Column("first_at", "first", "moment"),
        Column("last_at", "newest", "moment"),
        Column("next_at", "next", "moment"),
        Column("affordable", "fits", "text"),
        Column("occasions", "still to come", word="ahead"),
        Column("each", "a run", word="each"),
        Column("needs", "needs", "text"),
        Column("read_at", "at", "moment"),
        Column("seconds", "seconds into the run", "seconds"),
        # requests, calls and answers
        Column("planned", "planned"),
        Column("items", "requests"),
        Column("requests", "requests"),
        Column("reused", "reused"),
        Column("answered", "answered"),
        Column("failed", "failed"),
        Column("pending", "pending"),
        Column(
            "unanswered",
            "unanswered",
            help="Requests that failed, and pending ones: not sent, in flight or interrupted",
        ),
        Column("calls", "calls"),
        Column("answers", "answers"),
        Column("cut_off", "cut off", help="Answers that their token limit cut off"),
        Column("refused", "refused", help="Answers that the model refused, or a filter took"),
        Column("fallbacks", "fallback", help="Answers of another model than the one that was asked"),
        Column("suspected", "suspected", help="Answers under a name that is not the model's, so probably another's"),
        Column("not_accepted", "not accepted"),
        Column("runs", "runs"),
        Column("complete", "complete"),
        Column("accepted_share", "success", "share", "Share of its calls, cancelled ones aside, that were accepted"),
        Column("failed_share", "unanswered", "share"),
        Column("fallback_share", "fallback", "share"),
        Column("substituted_share", "substituted", "share", "Share of its answers that another model gave"),
        Column("usage_share", "usage", "share", "Share of its answers that say how many tokens they took"),
        # scores
        Column("of_asked", "mean", "text", "Mean over all samples asked; where some are unknown, both ends"),
        Column("interval", "95 % interval", "text"),
        Column("low", "low", "number", "The lower end of the mean's 95 % interval"),
        Column("high", "high", "number", "The upper end of the mean's 95 % interval"),
        Column("asked", "samples", help="Independent ones: epochs of a sample are not"),
        Column("mean", "of scored", "number", "Mean over the samples that are scored", "observed"),
        Column("mean_of_scored", "of scored", "number", "Mean over the samples that are scored", "observed"),
        Column("scored", "scored", help="Answers with a score that counts; of a comparison, samples"),
        Column("not_right", "not right", help="Answers without a score by the model's own doing", word="not-right"),
        Column("unknown", "unknown", help="Answers of which a score is not known; those left out are among them"),
        Column("unread", "not judged", help="Answers that the scorer could not judge"),
        Column("left_out", "left out", help="Scored answers of fallbacks"),
        Column("best", "best", "text", "The highest mean of what a run compares"),
        Column("best_model", "best by", "text", word="best-by"),
        Column("worst", "worst", "text", "The lowest mean of what a run compares"),
        Column("worst_model", "worst by", "text", word="worst-by"),
        Column("scores", "scores", "bars", "Mean of each model and scorer, 0 to 1"),
        Column("difference", "difference", "text"),
        Column(
            "behind",
            "difference to the best",
            "count",
            "On the samples of which both scores are known, with the interval that goes with the test, whatever the unknown "
            "ones were",
        ),
        Column("verdict", "shown", "text"),
        Column(
            "main_effect", "main effect", "text", "The mean difference over all models, or over all variants", "effect"
        ),
        Column("over", "over", "text", "Of what the difference is the mean"),
        Column("unscored", "not scored", "text", "As what they ended"),
        Column("shared", "known of both", help="Samples of which the scores of both sides are known", word="shared"),
        # tokens
        Column("prompt_tokens", "prompt", help="Tokens of what was sent"),
        Column("completion_tokens", "completion", help="Tokens of the answers, those of reasoning included"),
        Column("reasoning_tokens", "reasoning", help="Tokens of the completion that are reasoning"),
        Column("total_tokens", "tokens"),
        Column("calls_without_usage", "without usage", help="Answered, usage not reported", word="unreported"),
        Column("maybe_drawn", "usage unknown", help="Failed after they may have reached a model", word="uncertain"),
        Column("open_intents", "unfinished", help="Sent, no outcome recorded"),
        Column("tokens_an_answer", "tokens an answer", "number", "Mean completion tokens of an answer of its own"),
        Column(
            "tokens_per_right",
            "tokens a right answer",
            "text",
            "Tokens of all its answers, prompt and completion, for each right one, with the 95 % interval",
            "tokens/right",
        ),
        Column("most_tokens", "most expensive call"),
        Column("costliest_model", "its model", "text"),
        Column("low_tokens", "at least (tokens)"),
        Column("high_tokens", "at most"),
        Column("known_calls", "estimated from", help="Calls of the same model that reported their tokens"),
        Column("p10_tokens", "10 % used less than", "number"),
        Column("p90_tokens", "10 % used more than", "number"),
        # time
        Column("latency_ms", "latency", "ms"),
        Column("p10_ms", "10 % within", "ms"),
        Column("p50_ms", "median", "ms"),
        Column("p90_ms", "90 % within", "ms", word="p90"),
        Column("p99_ms", "99 % within", "ms"),
        Column("max_ms", "slowest", "ms"),
        Column("duration_s", "time", "seconds"),
        # what a route does
        Column("tools", "forced tool call", "text", word="tools"),
        Column("thinks", "reasoning", "text"),
        Column("reports_usage", "usage", "text"),
        Column("keeps_cap", "max_tokens", "text"),
        Column("cap", "max_tokens", "text"),
        Column("since", "since", "moment"),
        Column("what", "what", "text"),
        Column("before", "before", "text"),
        Column("after", "now", "text"),
        Column("source", "seen by", "text"),
        Column("how_bad", "how bad", "text"),
        # limits
        Column("allowed", "allowed in total"),
        Column("reason", "why", "text"),
        Column("limit_allowed", "new limit"),
        Column("in_a_row", "in a row", word="streak"),
        Column("failed_trials", "failed trials", word="trials"),
    )
}
