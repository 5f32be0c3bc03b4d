"""What is said of a filled sheet: in its column of flags, and at the end of the command."""

from collections import Counter
from collections.abc import Mapping, Sequence

from workbench.display.text import count
from workbench.evaluation.row_answers import Flag, Kind


def flag_text(flags: Sequence[Flag]) -> str:
    """Return what a row's flag says; empty where all is well."""
    return "; ".join(map(_words, flags))


def _words(flag: Flag) -> str:
    match flag.kind:
        case "failed":
            return f"failed: {flag.detail}"
        case "another model":
            return f"another model answered: {flag.detail}"
        case "empty":
            return "the answer is empty"
        case "taken out":
            return "taken out of the scores"
        case "pending judgement" | "not scored":
            return f"{flag.kind}: {flag.detail}"
        case "changed":
            return flag.detail
        case "shortened":
            return f"{flag.detail} shortened to what a cell holds"
        case "characters replaced":
            return f"{flag.detail}: characters replaced that the file cannot hold"
        case _:
            return flag.kind


def filled_text(name: str, rows: int, filled: int, flagged: Mapping[Kind, int], kept: int) -> str:
    """Return how much of a sheet is filled: `filled: answers.xlsx, 297 of 300 rows; 3 flagged (2 cut off, 1 failed)`.

    Args:
        rows: How many it has.
        filled: Those with an answer and without a flag.
        flagged: The others, by why.
        kept: Those beyond the limit.
    """
    kinds = ", ".join(f"{count(number)} {kind}" for kind, number in Counter(flagged).most_common())
    flags = f"; {count(sum(flagged.values()))} flagged ({kinds})" if flagged else ""
    left = f"; {count(kept)} beyond --limit" if kept else ""
    return f"filled: {name}, {count(filled)} of {count(rows)} rows{flags}{left}"


def beside_text(name: str, file: str, why: str) -> str:
    """Return why a sheet was written to another file than the one that was given.

    Args:
        name: Of the file that was given.
        file: The other one.
    """
    return f"{name} is unchanged, and the answers are in {file}: {why}"
