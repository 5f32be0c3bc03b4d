"""Ids that several rows of a dataset have: said, and each of these rows named apart."""

from workbench.display.text import plural

_MOST_SHOWN_CHARS = 40


class RepeatedIds:
    """The ids of a dataset's rows as they are read, and a name of its own for each row of an id that repeats: `ID#N`.

    N counts the rows of that id. With the number of the row in the file every name would be another one once a row is added
    above, removed or sorted; so the other ids' rows change no name, and rows that are appended leave the earlier ones theirs.
    No name is a part of a request's key, nor is the id: an answer stays paid however its row is called.
    """

    def __init__(self) -> None:
        self._rows: dict[int, int] = {}  # by the id's hash: there may be millions
        self._repeated: dict[str, None] = {}
        self._signs: dict[str, str] = {}

    def take(self, sample_id: str) -> int:
        """Note the id of one more row, and return which of the rows of this id it is, from 1."""
        number = self._rows.get(hash(sample_id), 0) + 1
        self._rows[hash(sample_id)] = number
        if number > 1:
            self._repeated[sample_id] = None
        return number

    @property
    def again(self) -> int:
        """How many rows have an id that a row before them has."""
        return sum(self._rows[hash(sample_id)] - 1 for sample_id in self._repeated)

    def name(self, sample_id: str, number: int) -> str:
        """Return what a row is called, once all are read: its id where no other row has it."""
        if sample_id not in self._repeated:
            return sample_id
        if len(self._signs) < len(self._repeated):
            self._choose_signs()
        return f"{sample_id}{self._signs[sample_id]}{number}"

    def _choose_signs(self) -> None:
        """Choose what stands between id and number, so that no name is another row's id or name."""
        taken = set(self._rows)
        for sample_id in self._repeated:
            sign = "#"
            while not taken.isdisjoint(names := self._hashes(sample_id, sign)):
                sign += "#"
            taken.update(names)
            self._signs[sample_id] = sign

    def _hashes(self, sample_id: str, sign: str) -> list[int]:
        return [hash(f"{sample_id}{sign}{number}") for number in range(1, self._rows[hash(sample_id)] + 1)]

    def note(self, column: str, *, are_clustered: bool) -> str | None:
        """Return what is said of the ids that repeat; None where none does.

        Args:
            are_clustered: Whether it is said already which samples belong together.
        """
        if not self._repeated:
            return None
        ids, first = len(self._repeated), next(iter(self._repeated))
        rows = sum(self._rows[hash(sample_id)] for sample_id in self._repeated)
        shown = [_in_short(self.name(first, number)) for number in (1, 2)]
        more = ", …" if rows > len(shown) else ""
        text = f"{plural(ids, 'id')} {'repeats' if ids == 1 else 'repeat'}, {plural(rows, 'row')}: named {', '.join(shown)}{more}"
        if are_clustered:
            return text
        return f'{text}; where the rows of one id belong together, `cluster = "{column}"` in [dataset] says so'


def _in_short(name: str) -> str:
    return repr(name if len(name) <= _MOST_SHOWN_CHARS else f"…{name[-_MOST_SHOWN_CHARS:]}")
