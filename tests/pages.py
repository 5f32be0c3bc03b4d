"""A page as a test reads it: every figure with the query, row and column that it comes from."""

import json
import re
import shlex
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from markupsafe import escape

from tests.asked_rows import rows_of
from workbench.ledger.queries import reading
from workbench.ledger.store import Ledger
from workbench.report.bundle import BUNDLE, page_script


def as_shown(ledger: Ledger) -> str:
    """A ledger as the commands on a page name it."""
    return str(escape(shlex.quote(ledger.name)))


_LOADING = ("link", "img", "iframe", "object", "embed", "video", "audio", "source", "base", "meta[http-equiv]")


class Page(HTMLParser):
    """Collects the `<data>` elements of a page, and whatever it would load from elsewhere."""

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.text = Path(path).read_text("utf-8")
        self.figures: list[dict[str, Any]] = []
        self.loads: list[str] = []
        self._table: dict[str, Any] = {}
        self._row: dict[str, Any] = {}
        self._columns: list[str] = []
        self._cell = -1
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "table" and "data-query" in given:
            self._table, self._columns = (
                {"query": given["data-query"], "parameters": json.loads(given["data-parameters"])},
                [],
            )
        if tag == "th":
            self._columns.append(given.get("data-column", ""))
        if tag == "tr" and "data-row" in given:
            self._row, self._cell = {"row": json.loads(given["data-row"])}, -1
        self._cell += tag == "td"
        if tag == "data":
            if "data-source" in given:
                source = json.loads(given["data-source"]) | {"column": given["data-column"]}
            else:
                source = self._table | self._row | {"column": self._columns[self._cell]}
            self.figures.append(source | {"value": given["value"]})
        if tag in _LOADING or given.get("src", BUNDLE) not in (BUNDLE, page_script().name):
            self.loads.append(tag)

    @property
    def charts(self) -> list[dict[str, Any]]:
        """The specifications of its charts."""
        found = re.findall(r'<script type="application/json">(.*?)</script>', self.text, re.S)
        return [json.loads(text) for text in found]

    def cells(self, table: str, column: int) -> list[str]:
        """The texts of one column of a table."""
        inside = self.text.partition(f'<table id="{table}"')[2].partition("</table>")[0]
        rows = re.findall(r"<tr data-row.*?</tr>", inside, re.S)
        return [re.sub(r"<[^>]*>", "", re.findall(r"<td.*?</td>", row, re.S)[column]) for row in rows]

    @property
    def queries(self) -> set[str]:
        return {figure["query"] for figure in self.figures}

    def check(self, ledger: Ledger) -> None:
        """Every figure is what its query says now."""
        answers: dict[str, list[dict[str, Any]]] = {}
        with reading(ledger) as reader:
            for figure in self.figures:
                asked = figure["query"] + json.dumps(figure["parameters"])
                if asked not in answers:
                    answers[asked] = rows_of(reader, figure["query"], **figure["parameters"])
                rows = [row for row in answers[asked] if all(told(row[k]) == v for k, v in figure["row"].items())]
                assert len(rows) == 1, figure
                value = rows[0][figure["column"]]
                assert figure["value"] == ("" if value is None else str(value)), figure


def told(value: Any) -> Any:
    """A value as a page's address of a row has it."""
    if isinstance(value, date):  # a moment too
        return value.isoformat().replace("+00:00", "Z")
    return value if isinstance(value, str | int | float | None) else str(value)
