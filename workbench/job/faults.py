"""What is wrong with a job file beyond what each key allows by itself."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

import workbench.display.commands as commands
from workbench.errors import nearest
from workbench.job.file import AGREEMENT_GATES, GatesTable, JobFile, PromptTable, RequestFields, scorer_and_field
from workbench.job.request_fields import request_problems
from workbench.scoring.scorer import MOST_SCORE, OptionError, Scorer
from workbench.strict import Problem, shown

_MOST_NAME_CHARS = 100
_READERS = {
    "label": "exact, match, answer_line, pattern with a group, choice, choices and tool_call with name_only read labels",
    "number": "numeric reads numbers",
}


def contradictions(job: JobFile, folder: Path) -> list[Problem]:
    """Return what each key allows by itself and the keys together do not."""
    found: list[Problem] = []
    found += _name_faults(job.name, ("name",))
    found += _prompt_faults(job.prompt, ("prompt",))
    found += _variant_faults(job, folder)
    for name in job.dataset.reference:
        found += _name_faults(name, ("dataset", "reference", name))
    if not job.dataset.path:
        found.append(Problem(("dataset", "path"), "must name at least one file"))
    try:
        limit_range(job.dataset.limit)
    except ValueError as error:
        found.append(Problem(("dataset", "limit"), str(error)))
    found += request_problems(job.request, ("request",), folder)
    found += _model_faults(job.models, folder)
    found += _scorer_faults(job.scorers, folder)
    found += _unknown_scorers(job, [(("compare", "margin", name), name) for name in job.compare.margin])
    found += _gate_faults(job)
    k = re.search(r"[0-9]+$", job.run.reduce)
    if k is not None and int(k[0]) > job.run.epochs:
        found.append(Problem(("run", "reduce"), f"{job.run.reduce!r} needs run.epochs of at least {k[0]}"))
    if job.schedule is not None:
        from workbench.job.occasions import problems  # with two parsers that few commands need

        found += [Problem(("schedule", key), text) for key, text in problems(job.schedule)]
        if job.run.reuse != "occasion":
            text = (
                'needs run.reuse = "occasion": otherwise each scheduled run would reuse the answers of the previous one'
            )
            found.append(Problem(("schedule",), text))
    for key in ("total_tokens", "units", "share_of_left"):
        if getattr(job.budget, key) is not None and not _all_capped(job):
            text = "needs request.max_tokens, or one for each model: without a cap nothing can be reserved"
            found.append(Problem(("budget", key), text))
    return found


def _name_faults(name: str | None, place: tuple[str | int, ...]) -> list[Problem]:
    """Return what keeps a name that the job chooses from standing in a line of a table."""
    if name is None or (name.strip() and name.isprintable() and len(name) <= _MOST_NAME_CHARS):
        return []
    return [Problem(place, f"expected 1 to {_MOST_NAME_CHARS} printable characters, found {shown(name)}")]


def _prompt_faults(prompt: PromptTable, place: tuple[str | int, ...]) -> list[Problem]:
    found: list[Problem] = []
    if prompt.messages and prompt.template != PromptTable().template:
        found.append(Problem((*place, "template"), "give either template or messages, not both"))
    if prompt.messages and prompt.system is not None:
        found.append(Problem((*place, "system"), "with prompt.messages, make the system prompt one of them"))
    if not prompt.template.strip():
        found.append(Problem((*place, "template"), "is empty", 'the default is "{{ input }}"'))
    return found


def _all_capped(job: JobFile) -> bool:
    def has_cap(fields: Any) -> bool:
        return isinstance(fields, RequestFields) and (
            isinstance(fields.max_tokens, int) or isinstance(fields.max_completion_tokens, int)
        )

    by_model = isinstance(job.models, list) and all(map(has_cap, job.models))
    return has_cap(job.request) or by_model or (bool(job.variants) and all(map(has_cap, job.variants)))


def _scorer_faults(scorers: Sequence[Scorer], folder: Path) -> list[Problem]:
    found: list[Problem] = []
    labels = [scorer.named for scorer in scorers]
    for number, (scorer, label) in enumerate(zip(scorers, labels, strict=True)):
        found += _name_faults(scorer.label, ("scorers", number, "label"))
        if label in labels[:number]:
            found.append(Problem(("scorers", number), f"a second scorer {label!r}", "give it its own label"))
        try:
            scorer = scorer.in_folder(folder)
        except OptionError as error:
            found.append(Problem(("scorers", number, error.option), str(error)))
        else:
            found += [Problem(("scorers", number, option), problem) for option, problem in scorer.faults()]
            found += _scale_faults(scorer, number)
    return found


def _scale_faults(scorer: Scorer, number: int) -> list[Problem]:
    """Return a scale that cannot be one, or is not the scorer's."""
    if scorer.scale is msgspec.UNSET:
        return []
    place, ends = ("scorers", number, "scale"), scorer.ends
    if ends != scorer.scale and ends is not None:
        own = f"from {ends[0]:g} to {ends[1]:g}"
        return [Problem(place, f"the scores of {scorer.kind} are {own}", "leave it out: only custom chooses its scale")]
    least, most = scorer.scale
    if -MOST_SCORE <= least < most <= MOST_SCORE:
        return []
    wanted = f"a least below its most, between {-MOST_SCORE:g} and {MOST_SCORE:g}"
    return [Problem(place, f"expected {wanted}, found {least:g} and {most:g}")]


def _variant_faults(job: JobFile, folder: Path) -> list[Problem]:
    found: list[Problem] = []
    seen: dict[str, str] = {}
    for number, each in enumerate(job.variants):
        place = ("variants", number)
        found += _name_faults(each.name, (*place, "name"))
        if any(other.name == each.name for other in job.variants[:number]):
            found.append(Problem((*place, "name"), f"{each.name!r} is given twice", "each needs a name of its own"))
        found += request_problems(each, place, folder)
        if each.prompt is not None:
            found += _prompt_faults(each.prompt, (*place, "prompt"))
        same = msgspec.json.encode(msgspec.structs.replace(each, name="")).decode()
        if same in seen:
            found.append(Problem(place, f"asks the same as {seen[same]!r}: every request would be paid for twice"))
        seen[same] = each.name
    return found


def _unknown_scorers(job: JobFile, places: Sequence[tuple[tuple[str, ...], str]]) -> list[Problem]:
    """Names of scorers that the job does not have, each with its place."""
    known = [scorer.named for scorer in job.scorers]
    return [
        Problem(
            place, f"the job has no scorer {name!r}", nearest(name, known) or f"it has: {', '.join(known) or 'none'}"
        )
        for place, name in places
        if name not in known
    ]


def _gate_faults(job: JobFile) -> list[Problem]:
    """Gates on scorers that the job does not have, or on occasions that it never runs for."""
    gates = job.gates
    if gates is None:
        return []
    named: list[tuple[tuple[str, ...], str]] = [
        (("gates", table, name), name)
        for table in ("min_mean", "min_over_constant", "max_drop")
        for name in getattr(gates, table)
    ]
    found = _unknown_scorers(job, [*named, *((("gates", "steady"), name) for name in gates.steady)])
    found += _agreement_gate_faults(job, gates)
    if gates.steady and job.run.reuse != "occasion":
        text = 'needs run.reuse = "occasion": only scheduled runs are a series'
        found.append(Problem(("gates", "steady"), text))
    return found


def _agreement_gate_faults(job: JobFile, gates: GatesTable) -> list[Problem]:
    """Gates on how far answers agree with the targets, of scorers that read nothing that could."""
    scorers, found = {scorer.named: scorer for scorer in job.scorers}, []
    for table, kinds in AGREEMENT_GATES.items():
        for name in getattr(gates, table):
            place = "gates", table, name
            scorer, field = scorer_and_field(name, scorers)
            reads = _reads(scorers[scorer]) if scorer in scorers else None
            if scorer not in scorers:
                found += _unknown_scorers(job, [(place, scorer)])
            elif reads == "fields" and field is None:
                hint = f'name a field of its targets, as "{scorer}.FIELD"'
                found.append(Problem(place, f"{scorer!r} reads the fields of an object, each by itself", hint))
            elif field is not None and reads != "fields":
                hint = "json does, of objects"
                found.append(Problem(place, f"{scorer!r} does not read fields in an answer", hint))
            elif reads not in (*kinds, "fields"):
                text = f"{scorer!r} does not read a {' or a '.join(kinds)} in an answer"
                found.append(Problem(place, text, _able(job, kinds)))
    return found


def _able(job: JobFile, read: tuple[str, ...]) -> str:
    able = [scorer.named for scorer in job.scorers if _reads(scorer) in read]
    return f"of this job, {', '.join(able)} does" if able else "; ".join(_READERS[kind] for kind in read)


def _reads(scorer: Scorer) -> str | None:
    try:
        return scorer.reads
    except ValueError:  # a pattern that is not valid, which is a fault of its own
        return None


def _model_faults(models: Any, folder: Path) -> list[Problem]:
    if models == "visible":
        return []
    found: list[Problem] = [] if models else [Problem(("models",), "must name at least one model")]
    seen: set[str] = set()
    for number, entry in enumerate(models):
        name = entry if isinstance(entry, str) else entry.id or entry.id_glob
        if not isinstance(entry, str):
            if (entry.id is None) == (entry.id_glob is None):
                found.append(Problem(("models", number), "give either id or id_glob"))
            found += request_problems(entry, ("models", number), folder)
        is_id = isinstance(entry, str) or entry.id is not None
        if is_id and name == "visible":
            found.append(Problem(("models", number), "'visible' stands alone, not in a list", 'models = "visible"'))
        elif is_id and name is not None and "*" in name:
            hint = f'[[models]] with id_glob = "{name}"'
            found.append(Problem(("models", number), f"{name!r} is a glob, and an id is taken as it is", hint))
        if name is not None and not name.strip():
            found.append(
                Problem(("models", number), "a model's id must not be empty", f"`{commands.LIST_MODELS}` lists them")
            )
        elif name in seen:
            found.append(Problem(("models", number), f"{name!r} is given twice", "run.epochs asks it several times"))
        seen.add(name or "")
    return found


def limit_range(limit: int | str | None) -> tuple[int, int | None]:
    """Return the rows a limit takes, as (first, last) counted from 1 and inclusive; last None means to the end.

    Raises:
        ValueError: It is neither a positive number nor a range such as `10-20`.
    """
    if limit is None:
        return 1, None
    if isinstance(limit, int) and limit >= 1:
        return 1, limit
    match = re.fullmatch(r"(\d+)-(\d+)", limit.replace(" ", "")) if isinstance(limit, str) else None
    if match and 1 <= int(match[1]) <= int(match[2]):
        return int(match[1]), int(match[2])
    raise ValueError(f'expected a number of rows from 1, or a range such as "10-20", found {limit!r}')
