"""What a run is expected to use, printed, and agreed to where the settings say so or after a pilot."""

from collections.abc import Callable

import anyio

from workbench.api.pipeline import plan_job
from workbench.api.session import Target
from workbench.cli.output import agreed, echo, say, say_notes
from workbench.display.text import amount, duration, percent, plural, significant
from workbench.job.job import Job
from workbench.planning.estimate import RunEstimate
from workbench.planning.run_plan import RunPlan, WindowPlan
from workbench.running.options import RunOptions
from workbench.settings.file import ConfirmSettings, load_settings


def is_confirmed(
    where: Target, job: Job, options: RunOptions, tell: Callable[[str], None], *, asks: bool, yes: bool
) -> bool:
    """Return whether a run may begin: after a pilot, or above a threshold of the settings, somebody has to say so.

    Args:
        tell: Prints a line.
        asks: Whatever the thresholds.
        yes: Said on the command line.
    """
    thresholds = ConfirmSettings() if where.local else load_settings(where.folder).confirm
    if not asks and (yes or thresholds == ConfirmSettings()):
        return True
    planned = anyio.run(plan_job, where, job, options)
    above = _above(planned, thresholds)
    if asks:
        print_estimate(planned, tell)
    say_notes(above)
    sends = _sends_text(planned)
    if yes or not sends or not (asks or above) or agreed(f"Send {sends}?"):
        return True
    say(f"{sends} not sent: --yes sends them")
    return False


def _sends_text(planned: RunPlan) -> str:
    """Return what a run would send, its judges' calls included; empty where that is nothing."""
    judged = sum(one.most_calls for one in planned.judges)
    then = f", and up to {plural(judged, 'call')} of judges" if judged else ""
    return f"{plural(planned.to_send, 'request')}{then}" if planned.to_send or judged else ""


def _above(planned: RunPlan, thresholds: ConfirmSettings) -> list[str]:
    found: list[str] = []
    judged = sum(one.most_calls for one in planned.judges)
    # of a judge's calls only the answers have a cap, and what they are asked about is not known yet
    tokens = None if judged else planned.estimate.high_tokens
    units = None if planned.window is None or judged else planned.window.high_units
    reads = " (what its judges read is not known yet)" if judged else ""
    if not (sends := _sends_text(planned)):
        return found
    if thresholds.requests is not None and planned.to_send + judged > thresholds.requests:
        found.append(f"it would send {sends}, more than [confirm] requests = {thresholds.requests}")
    if thresholds.total_tokens is not None and (tokens is None or tokens > thresholds.total_tokens):
        most = f"no bound on its tokens{reads}" if tokens is None else f"up to {amount(round(tokens))} tokens"
        found.append(f"{most}, more than [confirm] total_tokens = {thresholds.total_tokens}")
    if thresholds.units is not None and (units is None or units > thresholds.units):
        most = f"no bound on its units{reads}" if units is None else f"up to {significant(units)} units"
        found.append(f"{most}, more than [confirm] units = {thresholds.units:g}")
    return found


def print_estimate(planned: RunPlan, tell: Callable[[str], None] = echo) -> None:
    """Tokens, units and time as ranges with their sources, and the caps that hold."""
    expected = planned.estimate
    if expected.models:
        sources = list(dict.fromkeys(part.rests_on for part in expected.models))
        source = sources[0] if len(sources) == 1 else "several sources"
        tell(f"tokens: {_range(expected.low_tokens, expected.high_tokens)}, from {source}")
        for part in expected.models if len(sources) > 1 else ():
            tell(f"  {part.model}: {_range(part.low_tokens, part.high_tokens)}, from {part.rests_on}")
        if (more := _cut_off(expected)) is not None:
            tell(f"  {more}")
        if expected.most_tokens is not None:
            tell(f"tokens at most: {amount(expected.most_tokens)}, with every pass and the gateway's own retries")
        if planned.window is not None:
            then = ", before its judges are asked" if any(one.most_calls for one in planned.judges) else ""
            _print_window(planned.window, then, tell)
        if expected.low_s is not None and expected.high_s is not None:
            tell(f"time: {duration(expected.low_s)} to {duration(expected.high_s)}, by earlier answers of these models")
    for cap in planned.window.caps if planned.window is not None else ():
        tell(f"cap: {cap.words}, {'at least ' if cap.unbounded_calls else ''}{cap.used_text} of them used")
        if cap.unbounded_calls:
            calls = plural(cap.unbounded_calls, "call")
            tell(
                f"  {calls} reported no usage and had no max_tokens: what they used is not known, only their prompts count"
            )


def _cut_off(expected: RunEstimate) -> str | None:
    """Return what the earlier answers cannot exclude; None where the range holds it already."""
    known = [part for part in expected.models if part.cut_off_share is not None]
    if expected.high_tokens is None or not known:
        return None
    if expected.cut_off_tokens is None:
        return "without max_tokens nothing bounds an answer that does not end by itself"
    if round(expected.cut_off_tokens) == round(expected.high_tokens):
        return None
    shares = [(part, percent(part.cut_off_share or 0.0)) for part in known]
    most = amount(round(expected.cut_off_tokens))
    if len(shares) == 1:
        part, share = shares[0]
        excluded = plural(part.answers, "earlier answer")
        return f"up to {most} if {share} of the answers run to their cap, which {excluded} cannot exclude"
    told = ", ".join(f"{share} of {part.model}" for part, share in shares)
    return f"up to {most} if as many answers run to their cap as earlier ones cannot exclude ({told})"


def _print_window(window: WindowPlan, then: str, tell: Callable[[str], None]) -> None:
    if window.unit != "tokens":
        low, high = significant(window.low_units), window.high_units
        tell(f"{window.unit}: {f'at least {low}' if high is None else f'{low} to {significant(high)}'}")
    leaves = window.leaves
    if leaves is not None:
        until = "" if window.ends_at is None else f" until {window.ends_at:%Y-%m-%d %H:%M} UTC"
        left = f"{significant(leaves[0])} to {significant(leaves[1])} {window.unit}{until}"
        tell(f"left of the allowance after it{then}: {left}")


def _range(low: float, high: float | None) -> str:
    least = amount(round(low))
    return f"at least {least}" if high is None else f"{least} to {amount(round(high))}"
