"""What is likely wrong with a job that could run; its outright faults are found where it is read."""

import math
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

import workbench.display.commands as commands
from workbench.dataset.files import expand
from workbench.dataset.samples import id_column, notes_on
from workbench.errors import Fault, InputError, nearest
from workbench.job.file import ON_OWN_SCALE, GatesTable, PromptTable, Worthless
from workbench.job.job import Job
from workbench.planning.expand import Plan
from workbench.planning.models import PlannedModel
from workbench.planning.scorers import judges_of
from workbench.records.calls import Model
from workbench.records.endings import JUDGED_RUN
from workbench.scoring.custom import Custom
from workbench.stats.intervals import mean_interval
from workbench.stats.paired import LEVEL
from workbench.stats.proportions import interval

_LEAST_TO_THINK = 1024
"""Tokens."""
_SINGLE_BRACES = re.compile(r"(?<![\\{}^\w])\{ *([A-Za-z_]\w*) *\}(?!\})")
_PROSE_ONLY = ("thinking only", "reasoning", "reasoner", "prover")


class Finding(msgspec.Struct, frozen=True):
    """One thing to look at before the run."""

    where: str
    text: str
    stops: Worthless | None = None
    """What `run.allow` and `--allow` call it, where it stops a run before its first request."""
    is_about_now: bool = False
    """Whether it is about the time or the allowance that is left now, and not about the job: a run does not count it."""


class RouteExperience(msgspec.Struct, frozen=True):
    """What the ledger knows of a route."""

    forced: int = 0
    """Answers to requests that forced a tool call."""
    called: int = 0
    """How many of them held one."""
    thinks: bool | None = None
    """From here: as probes found it; None: not known."""
    reports_usage: bool | None = None
    keeps_cap: bool | None = None


def lint_plan(plan: Plan, visible: list[Model], experience: dict[str, RouteExperience]) -> list[Finding]:
    """List what is likely to go wrong in a run of this plan."""
    found = [*_worthless(plan), *_lint_dataset(plan)]
    presets = {model.id for model in visible if model.preset}
    for model in plan.models:
        where = f"models {model.id!r}"
        known = experience.get(model.id, RouteExperience())
        found += [Finding(where, text) for text in (*_lint_thinking(model, known), *_lint_budget(plan, known))]
        found += [
            Finding(where, text) for text in _lint_fields(model.fields, samples_bring_tools=plan.samples_bring_tools)
        ]
        if model.fields.get("tools") or plan.samples_bring_tools:
            found += [Finding(where, text) for text in _lint_tools(model.id, known)]
            if model.id in presets:
                found.append(
                    Finding(
                        where,
                        "a preset's own tools never run through the API; only those sent here are called",
                    )
                )
    return found


def of_the_job(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that are about the job, and not about what is left now."""
    return [finding for finding in findings if not finding.is_about_now]


def refuse_worthless(plan: Plan, judges: Sequence[Finding]) -> None:
    """Stop a run that would spend something and show nothing.

    Args:
        judges: What `invisible_judges` finds.

    Raises:
        InputError: It would, and its job does not say that this is meant.
    """
    if len(plan) > plan.reused and JUDGED_RUN not in plan.job.tags:  # a judge asks what its rubric says
        refuse(plan.job, [*_worthless(plan), *judges])


def invisible_judges(job: Job, visible: Iterable[Model]) -> Iterator[Finding]:
    """Return the judges whose models the account does not see; they stop a run that is to ask them itself."""
    ids = [model.id for model in visible]
    for number, judge in judges_of(job):
        if judge.model not in ids:
            near = nearest(judge.model, ids) or f"visible: {', '.join(ids)}"
            text = f"{judge.model!r} is not visible to this account, and its scores would stay pending ({near})"
            stops: Worthless | None = "judge_not_visible" if job.judge.when == "run" else None
            yield Finding(job.where("scorers", number, "model"), text, stops)


def refuse(job: Job, findings: Sequence[Finding]) -> None:
    """Stop at findings that make a whole run worth nothing.

    Raises:
        InputError: There are some, and the job does not say that they are meant.
    """
    found = [finding for finding in findings if finding.stops is not None and finding.stops not in job.run.allow]
    if found:
        raise InputError(
            *(Fault(one.where, f"{one.text}; nothing was sent", _allowing_text(str(one.stops))) for one in found)
        )


def _allowing_text(finding: str) -> str:
    """Return how a finding that stops a run is allowed, on the command line and in Python."""
    return f'--allow {finding}, in Python allow=["{finding}"], sends it'


def _worthless(plan: Plan) -> Iterator[Finding]:
    """Return what makes the whole of a run worth nothing."""
    if plan.has_different_inputs and plan.is_constant:
        text = "every sample gives the same prompt: it names no column that differs, as {{ input }} does"
        yield Finding(plan.job.where("prompt"), text, "constant_prompt")
    if not plan.mixes_messages:  # which are sent without the prompt
        yield from _worthless_prompts(plan)
    yield from _worthless_scores(plan)


def _worthless_prompts(plan: Plan) -> Iterator[Finding]:
    job, fields = plan.job, msgspec.structs.asdict(plan.job.dataset.fields)
    ours = {column: name for name, column in fields.items() if isinstance(column, str)}
    for variant in job.variants:
        for name in sorted(_in_single_braces(variant.prompt) & plan.columns.union(ours)):
            braces = f"{{{{ {ours.get(name, name)} }}}}"
            text = f"{{{name}}} is sent as it stands: a column is named in double braces, {braces}"
            yield Finding(job.where(*variant.place), text, "single_braces")
    if plan.checks.shows_no_options:
        text = "no prompt shows all options of its question; a template names them as {{ choices }}"
        yield Finding(job.where("prompt"), text, "options_not_shown")
    if any(isinstance(scorer, Custom) or scorer.asks_a_model for scorer in job.scorers):
        return  # which may want it kept from the model
    if columns := plan.checks.passages_left_out:
        shown = ", ".join(f"{{{{ {name} }}}}" for name in columns)
        text = f"no prompt shows what is a part of the question by its name; a template names it as {shown}"
        yield Finding(job.where("prompt"), text, "passage_not_shown")


def _worthless_scores(plan: Plan) -> Iterator[Finding]:
    """Return scorers of which none can judge anything, those that fail on any answer, and gates that can never be met."""
    job = plan.job
    if job.scorers and not job.narrowed and all(plan.unjudged.get(one.named) == plan.samples for one in job.scorers):
        fields = 'dataset.fields = { target = "COLUMN" } names its column'
        for number, scorer in enumerate(job.scorers):
            text = f"no sample has a target that {scorer.named!r} can judge by; {fields}"
            yield Finding(job.where("scorers", number), text, "no_targets")
    for number, scorer in enumerate(job.scorers):
        why, on_any = plan.failing.get(scorer.named, ("", False))
        if on_any:
            yield Finding(job.where("scorers", number), f"{scorer.named!r} fails: {why}", "scorer_fails")
    yield from _out_of_range(job)


def _out_of_range(job: Job) -> Iterator[Finding]:
    """Return gates that can never be met, or always are, and margins that every model keeps: 5 where 0.05 was meant."""
    ends = {scorer.named: scorer.ends for scorer in job.scorers}
    gates = job.gates or GatesTable()
    for table, key, wanted, is_beyond, says in (
        ("gates", "min_mean", gates.min_mean, operator.gt, "is never reached"),
        ("gates", "min_over_constant", gates.min_over_constant, operator.gt, "more is never reached"),
        ("gates", "max_drop", gates.max_drop, operator.ge, "less is never exceeded, so that it fails no run"),
        (
            "compare",
            "margin",
            job.compare.margin,
            operator.ge,
            "less is never exceeded, so that every model is within it",
        ),
    ):
        for label, number in wanted.items():
            scale = ends[label]
            if scale is None:
                continue
            if not is_beyond(number, scale[1] if key == "min_mean" else scale[1] - scale[0]):
                continue
            near = f"; {number / 100:g} is {number:g} point{'' if number == 1 else 's'}" if scale == (0, 1) else ""
            text = f"{number:g} {says}: {label!r} gives {scale[0]:g} to {scale[1]:g}{near}"
            yield Finding(job.where(table, key, label), text, "gate_out_of_range")


def _in_single_braces(prompt: PromptTable) -> set[str]:
    """Return the names that stand in single braces in a prompt, and nowhere in double ones."""
    texts = [prompt.template, prompt.system or "", *(message.content for message in prompt.messages)]
    found = set[str]().union(*map(_SINGLE_BRACES.findall, texts))
    return {name for name in found if not any(re.search(rf"\{{\{{[^}}]*\b{name}\b", text) for text in texts)}


def prompt_warnings(plan: Plan) -> list[Finding]:
    """Return what makes most answers of no use: a run that begins says it too."""
    found = [Finding(plan.job.where(place), text) for place, text in plan.checks.warnings()]
    for number, scorer in enumerate(plan.job.scorers):
        why, on_any = plan.failing.get(scorer.named, ("", False))
        if why and not on_any:
            text = f"{scorer.named!r} fails on the first sample with an answer that is its target: {why}"
            found.append(Finding(plan.job.where("scorers", number), text))
    return found


def repeated_ids(plan: Plan) -> list[Finding]:
    """Return what is said of ids that repeat: a plan and a run that begins say it too."""
    note = plan.ids.note(id_column(plan.job.dataset.fields), are_clustered=plan.are_clustered)
    return [] if note is None else [Finding(plan.job.where("dataset"), note)]


_WITHOUT_TOP = (
    "{!r} does not say which score is right, and run.reduce = {!r} counts right ones: with scale = [0, 10], say, 10 is right; "
    "without a scale 1 is, where no score is below 0 or above 1"
)


def _lint_dataset(plan: Plan) -> list[Finding]:
    job = plan.job
    found = [
        Finding(job.where("dataset", "path"), f"{path}: {note}")
        for path in expand(job.dataset_paths, job.where("dataset", "path"))
        for note in notes_on(path, job.dataset.format, job.dataset.delimiter, job.dataset.sheet)
    ]
    found += repeated_ids(plan)
    found += [
        Finding(
            job.where("scorers", number, "votes"), f"{judge.votes} votes at temperature 0 are one, and each is paid for"
        )
        for number, judge in judges_of(job)
        if judge.votes > 1 and judge.temperature == 0
    ]
    found += [
        Finding(f"scorers {label!r}", _unjudged(count, plan.samples))
        for label, count in plan.unjudged.items()
        if count < plan.samples or job.narrowed or len(plan.unjudged) < len(job.scorers)
    ]
    if job.run.reduce not in ON_OWN_SCALE:
        found += [
            Finding(job.where("scorers", number), _WITHOUT_TOP.format(scorer.named, job.run.reduce))
            for number, scorer in enumerate(job.scorers)
            if scorer.ends is None
        ]
    if plan.mixes_messages and (job.prompt.system is not None or job.prompt.messages):
        found.append(Finding("prompt", "samples that are lists of messages are sent as they are, without [prompt]"))
    if job.dataset.shuffle_seed is not None and job.dataset.limit is None:
        found.append(Finding("dataset.shuffle_seed", "has no effect without limit: samples are sent in file order"))
    most, left = job.budget.requests, len(plan) - plan.reused
    if most is not None and most < left:
        found.append(Finding(job.where("budget", "requests"), f"the run stops after {most} of {left} requests"))
    found += [
        Finding(
            f"scorers {scorer.named!r}",
            f"its calls are made later, by `{commands.ASK_JUDGES}`; they are not counted in this plan",
        )
        for scorer in job.scorers
        if scorer.asks_a_model and job.judge.when == "later"
    ]
    found += [*prompt_warnings(plan), *(Finding(job.where(where), text) for where, text in plan.checks.findings())]
    found += _lint_gates(plan)
    found += _lint_margin(plan)
    for glob in sorted(plan.globs.unmatched):
        found.append(Finding(job.where("dataset", "sample_ids"), f"no sample has an id like {glob!r}"))
    return found


def _lint_gates(plan: Plan) -> Iterator[Finding]:
    """Gates that so few samples can never show to be met."""
    job, n = plan.job, plan.samples
    if job.gates is None or not n:
        return
    if job.gates.min_mean and job.gates.max_unusable_share is None:
        text = (
            "answers that are cut off, empty or refused count as not right; max_unusable_share = 0.05 would name them"
        )
        yield Finding(job.where("gates"), text)
    for scorer, wanted in job.gates.min_mean.items():
        low = mean_interval([1.0] * n).low
        if low is None or low < wanted:
            best = "has none" if low is None else f"reaches down to {low:.3f}"
            text = f"{n} samples cannot show it: even if every answer is right, the interval {best}"
            yield Finding(job.where("gates", "min_mean", scorer), text)
    yield from _unshowable(job, "gates", "max_drop", job.gates.max_drop, n, pairs=1)


def _lint_margin(plan: Plan) -> Iterator[Finding]:
    """Margins that so few samples can never show to be kept."""
    job, sides = plan.job, len(plan.models) * len(plan.job.variants)
    if plan.samples and sides > 1:
        pairs = math.comb(sides, 2)
        yield from _unshowable(job, "compare", "margin", job.compare.margin, plan.samples, pairs=pairs)


def _unshowable(
    job: Job, table: str, key: str, wanted: Mapping[str, float], n: int, *, pairs: int
) -> Iterator[Finding]:
    """Differences that would be too small to be shown even if no sample differed.

    Args:
        wanted: By scorer, the most that a model may be worse.
        n: Samples.
        pairs: The differences that are shown together.
    """
    for scorer, most in wanted.items():
        reach = -interval(0, 0, n, LEVEL / pairs)[0]
        if reach > most:
            text = f"{n} samples cannot show it by right and wrong: "
            text += f"even if none differs, the interval reaches {100 * reach:.1f} points down"
            yield Finding(job.where(table, key, scorer), text)


def _unjudged(count: int, samples: int) -> str:
    which = "no sample has" if count == samples else f"{count} of {samples} samples do not have"
    return f"{which} a target that it can judge by; their answers stay unscored"


def _lint_fields(fields: dict[str, Any], *, samples_bring_tools: bool) -> Iterator[str]:
    if "max_tokens" not in fields and "max_completion_tokens" not in fields:
        yield "no max_tokens: the length of an answer is not limited"
    if fields.get("tool_ids"):
        yield "tool_ids have no effect: the platform runs them for streamed answers only, and Workbench does not stream"
    if "tool_choice" in fields and not fields.get("tools") and not samples_bring_tools:
        yield "tool_choice is not sent: there are no tools"


def _lint_thinking(model: PlannedModel, known: RouteExperience) -> Iterator[str]:
    named = any(word in model.id.casefold() for word in (*_PROSE_ONLY, "thinking"))
    thinks = named if known.thinks is None else known.thinks
    if thinks and model.max_tokens is not None and model.max_tokens < _LEAST_TO_THINK:
        by = "when it was probed" if known.thinks else "by its name"
        yield (
            f"max_tokens of {model.max_tokens} counts reasoning too: a route that, {by}, thinks first may be cut off "
            "before its answer"
        )


def _lint_budget(plan: Plan, known: RouteExperience) -> Iterator[str]:
    if plan.job.budget.total_tokens is None:
        return
    if known.keeps_cap is False:
        yield "ignored max_tokens when it was probed: it may overrun a budget in tokens"
    if known.reports_usage is False:
        yield "reported no usage when it was probed: a budget in tokens counts its bound instead"


def _lint_tools(model: str, known: RouteExperience) -> Iterator[str]:
    if known.forced and known.called == 0:
        yield f"never called a tool in {known.forced} answers that had to: it answers in prose only"
    elif not known.forced and any(word in model.casefold() for word in _PROSE_ONLY):
        yield "tools are sent to a route that, by its name, answers in prose only"
