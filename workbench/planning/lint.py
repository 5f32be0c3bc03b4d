"""What is likely wrong with a job that could run; its outright faults are found where it is read."""

from collections.abc import Iterator
from typing import Any

import msgspec

from workbench.errors import nearest
from workbench.planning.expand import Plan
from workbench.records import Model

_SHOWN_IDS = 5
_PROSE_ONLY = ("thinking only", "reasoning", "reasoner", "prover")


class Finding(msgspec.Struct, frozen=True):
    """One thing to look at before the run."""

    where: str
    text: str


class ToolExperience(msgspec.Struct, frozen=True):
    """What the ledger knows of a model that was forced to call a tool."""

    forced: int
    """Answers to requests that forced a call."""
    called: int
    """How many of them held one."""


def lint_plan(plan: Plan, visible: list[Model], experience: dict[str, ToolExperience]) -> list[Finding]:
    """List what a run of this plan would likely be sorry for.

    Args:
        plan: Expanded.
        visible: The platform's list.
        experience: By model.
    """
    found = _lint_dataset(plan)
    presets = {model.id for model in visible if model.preset}
    for model in plan.models:
        where = f"models {model.id!r}"
        found += [Finding(where, text) for text in _lint_fields(model.fields)]
        if model.fields.get("tools") or plan.samples_bring_tools:
            found += [Finding(where, text) for text in _lint_tools(model.id, experience.get(model.id))]
            if model.id in presets:
                found.append(
                    Finding(
                        where,
                        "a preset's own tools never run through the API; only those sent here are called",
                    )
                )
    return found


def _lint_dataset(plan: Plan) -> list[Finding]:
    job = plan.job
    found = []
    if plan.repeated_ids:
        shown = ", ".join(map(repr, plan.repeated_ids[:_SHOWN_IDS]))
        more = f" and {len(plan.repeated_ids) - _SHOWN_IDS} more" if len(plan.repeated_ids) > _SHOWN_IDS else ""
        found.append(Finding("dataset", f"ids that stand for several samples: {shown}{more}"))
    found += [Finding(f"scorers {label!r}", _unjudged(count, plan.samples)) for label, count in plan.unjudged.items()]
    if plan.mixes_messages and (job.prompt.system is not None or job.prompt.messages):
        found.append(Finding("prompt", "samples that are lists of messages are sent as they are, without [prompt]"))
    if job.dataset.shuffle_seed is not None and job.dataset.limit is None:
        found.append(
            Finding("dataset.shuffle_seed", "without limit it changes nothing: samples are sent in file order")
        )
    if job.run.on_fallback in ("exclude", "fail"):
        found.append(
            Finding(
                "run.on_fallback",
                "acts once it is known which route a served name stands for; until then such answers count and are shown",
            )
        )
    return found


def _unjudged(count: int, samples: int) -> str:
    which = "no sample has" if count == samples else f"{count} of {samples} samples do not have"
    return f"{which} a target that it can judge by; their answers stay unscored"


def _lint_fields(fields: dict[str, Any]) -> Iterator[str]:
    if "max_tokens" not in fields and "max_completion_tokens" not in fields:
        yield "no max_tokens: one answer may draw as much as the model likes to write"
    if fields.get("tool_ids"):
        yield "tool_ids execute nothing when an answer is not streamed, as all here are"
    if isinstance(choice := fields.get("tool_choice"), dict):
        named = _name_of(choice)
        offered = [_name_of(tool) for tool in fields.get("tools") or []]
        if offered and named not in offered:
            yield f"tool_choice forces {named!r}, which is not among the tools; {nearest(named, offered)}"


def _name_of(tool: Any) -> str:
    """The function's name of a tool or of a forced choice, which have one shape; empty when there is none."""
    function = tool.get("function") if isinstance(tool, dict) else None
    return str(function.get("name")) if isinstance(function, dict) else ""


def _lint_tools(model: str, known: ToolExperience | None) -> Iterator[str]:
    if known is not None and known.called == 0:
        yield f"forced to call a tool {known.forced} times before, it never did: it answers in prose only"
    elif known is None and any(word in model.casefold() for word in _PROSE_ONLY):
        yield "tools are sent to a route that, by its name, answers in prose only"
