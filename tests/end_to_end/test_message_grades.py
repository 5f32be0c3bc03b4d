"""What the errors of `tests/messages.txt` have to help with: a place, the nearest right thing, a documented exit code."""

import re

import pytest

from tests.messages import Message, table
from workbench.errors import ExitCode

PLACE = re.compile(
    r"[\w./-]+\.\w+(:\d+)?(?=[: ]|$)"  # a file, a key of a table, a variable's file
    r"|(?<!\w)--?[a-zA-Z][\w-]*"  # an option
    r"|\b[A-Z][A-Z_]+\b"  # an argument, a variable
    r"|'[^']*'|\"[^\"]+\"|argument \(|\[\w+\]|\S+:\d+|\w+/\w+|the cap of|crontab -l|standard input|\bjob\b"
)
NEAREST = re.compile(
    r"did you mean|expected|is meant|expecting|at most|at least|in the range|such as|one of|instead|cannot be combined"
    r"|([:;(,] |^)(give|use|write|name|save|put|remove|rename|say|fetch|set|leave|choose|the key is read)\b"
    r"|\b(needs?|must|only|goes with|it has|known|are:)\b|`|\(.+\)|; ",
    re.IGNORECASE,
)
ERRORS = [message for message in table().values() if message.exit_code]


@pytest.mark.parametrize("message", ERRORS, ids=lambda message: message.case)
def test_an_error_has_its_place_and_a_documented_exit_code(message: Message) -> None:
    assert message.exit_code in {*ExitCode} - {ExitCode.INTERNAL_ERROR}, message
    first = message.text.splitlines()[0].removeprefix("error: ").removeprefix("Error: ")
    assert PLACE.search(first), message


def test_nine_errors_of_ten_have_the_nearest_right_thing() -> None:
    """Those without: what a file or a machine has, and another program said of it."""
    without = [message for message in ERRORS if not NEAREST.search(message.text)]
    assert len(ERRORS) >= 200
    assert len(without) <= len(ERRORS) / 10, "\n".join(map(str, without))
