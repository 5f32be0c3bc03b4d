"""What a rehearsal took, beside what the account's history lets expect of the same requests."""

from collections.abc import Iterator

from workbench.display import amount, duration
from workbench.endings import RunSummary
from workbench.errors import WorkbenchError
from workbench.ledger.queries import reading
from workbench.ledger.store import Ledger
from workbench.planning.estimate import estimate
from workbench.planning.expand import Plan


def rehearsed(account: Ledger, plan: Plan, run: RunSummary) -> Iterator[str]:
    """The line that says both; nothing where the account has no history, or nothing was sent.

    Args:
        account: The account's ledger.
        plan: Of the rehearsal.
        run: How it went.
    """
    if not account.exists or not run.completed:
        return
    try:
        with reading(account, frugal=True) as reader:
            expected = estimate(reader, plan)
    except (WorkbenchError, OSError) as error:
        yield f"the account's history cannot be read to compare with: {error}"
        return
    high = "or more" if expected.high_tokens is None else f"to {amount(round(expected.high_tokens))}"
    planned = f"{amount(round(expected.low_tokens))} {high} tokens"
    if expected.low_s is not None and expected.high_s is not None:
        planned = f"{duration(expected.low_s)} to {duration(expected.high_s)}, {planned}"
    took = f"{duration(run.duration_s)}, {amount(run.usage.total_tokens)} tokens"
    sources = list(dict.fromkeys(part.rests_on for part in expected.models))
    source = sources[0] if len(sources) == 1 else "several sources"
    yield f"rehearsed: {took}; planned for the account: {planned}, from {source}"
