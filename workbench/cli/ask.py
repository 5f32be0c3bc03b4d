"""`workbench ask`: one question to one model, recorded like any other call."""

import sys
from typing import Any

import anyio
import click
import msgspec

import workbench.display.commands as commands
from workbench.api.functions import question
from workbench.api.pipeline import run_job
from workbench.api.session import ledger_to_write
from workbench.cli import options
from workbench.cli.output import echo, print_json, say, say_notes
from workbench.ledger.answer_rows import RecordedAnswer
from workbench.ledger.queries import reading
from workbench.running.options import RunOptions
from workbench.wording.runs import question_used_text


@click.command()
@click.argument("model")
@click.argument("text")
@click.option("--system", metavar="TEXT", help="The system prompt.")
@click.option("--max-tokens", metavar="N", type=click.IntRange(1), help="Maximum number of tokens of the answer.")
@options.endpoint
@options.as_json
def ask(model: str, text: str, system: str | None, max_tokens: int | None, as_json: bool, **given: Any) -> None:
    """Send one prompt to MODEL and print the answer; TEXT is the prompt, or - for standard input. Nothing is reused.

    The call is recorded as a run of the job "ask".
    """
    prompt = sys.stdin.read() if text == "-" else text
    if not model.strip():
        raise click.UsageError(f"MODEL is empty: expected an id that `{commands.LIST_MODELS}` lists")
    if not prompt.strip():
        raise click.UsageError(
            f"{'TEXT is -, and standard input' if text == '-' else 'TEXT'} is empty: expected the question"
        )
    job = question(model, prompt, system, {"max_tokens": max_tokens} if max_tokens else None)
    where = options.where(given)
    end = anyio.run(run_job, where, job, RunOptions(fresh=True))
    with reading(ledger_to_write(where)) as reader:
        answers = reader.all(RecordedAnswer, run_id=end.summary.run_id)
    call = answers[0] if answers else None
    say_notes(end.notes)
    if as_json:
        told = {} if call is None else msgspec.structs.asdict(call)
        print_json({"run_id": end.summary.run_id, "simulated": end.summary.simulated, **told})
    elif call is not None and call.answer:
        echo(call.answer)
    if not as_json:
        simulated = ", simulated" if end.summary.simulated else ""
        how = (call and call.outcome) or end.summary.reason or "not answered"
        served = f" by {call.served_model}" if call and call.served_model else ""
        used = question_used_text(end.summary.outcomes, None if call is None else call.total_tokens)
        say(f"{how}{served}, {used}{simulated}; run {end.summary.run_id}")
    sys.exit(end.exit_code)
