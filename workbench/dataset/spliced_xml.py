"""An XML part that is changed in a few places, and is byte for byte the same in all others."""

import re
from collections.abc import Callable
from typing import NamedTuple
from xml.parsers import expat

_TAG = re.compile(rb"<(?:[^'\">]|\"[^\"]*\"|'[^']*')*>")
_END_TAG = re.compile(rb"</([^\s>]+)\s*>")


class Element(NamedTuple):
    """An element of an XML part, and where its bytes are."""

    name: str
    """Without the prefix of the part's own namespace."""
    attributes: dict[str, str]
    start: int
    stop: int
    """After its end tag."""
    is_empty: bool
    """Whether it is one tag, as in `<row/>`."""


class Edit(NamedTuple):
    """Bytes of a part, and what stands there in their place."""

    start: int
    stop: int
    content: bytes


class SplicedXml:
    """An XML part that is read once, and changed only where it must be."""

    def __init__(self, data: bytes) -> None:
        self.data = _without_utf_16(data)
        self.edits: list[Edit] = []
        self.prefix = ""
        """Of the part's own namespace, with its colon."""
        self._open: list[tuple[str, dict[str, str], int]] = []

    def read(self, ended: Callable[[Element, str], None]) -> None:
        """Read it through.

        Args:
            ended: Called with each element at its end, and the name of the one around it.
        """
        parser = expat.ParserCreate()

        def start(name: str, attributes: dict[str, str]) -> None:
            if not self._open:
                self.prefix = name[: name.rfind(":") + 1]
            self._open.append((name, attributes, parser.CurrentByteIndex))

        def end(name: str) -> None:
            _, attributes, began = self._open.pop()
            place = parser.CurrentByteIndex  # before its end tag; of an empty element, after it
            closed = _END_TAG.match(self.data, place)
            is_empty = closed is None or closed.group(1) != name.encode()
            stop = place if closed is None or is_empty else closed.end()
            around = self._open[-1][0].removeprefix(self.prefix) if self._open else ""
            ended(Element(name.removeprefix(self.prefix), attributes, began, stop, is_empty), around)

        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.Parse(self.data, True)

    def tag(self, element: Element) -> bytes:
        """Return the start tag of an element."""
        found = _TAG.match(self.data, element.start)
        return b"" if found is None else found.group()

    def replace_tag(self, element: Element, **attributes: str) -> None:
        """Give an element other values for attributes that it has."""
        tag = self.tag(element)
        self.edits.append(Edit(element.start, element.start + len(tag), retagged(tag, **attributes)))

    @property
    def spliced(self) -> bytes:
        """The part with its changes."""
        pieces, place = [], 0
        for edit in sorted(self.edits, key=lambda edit: (edit.start, edit.stop)):  # at one place, in their order
            pieces += [self.data[place : edit.start], edit.content]
            place = edit.stop
        return b"".join([*pieces, self.data[place:]])


def _without_utf_16(data: bytes) -> bytes:
    """Return a part in an encoding that has ASCII, in which all that is added is written."""
    if not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data
    return re.sub(r'\sencoding=(?:"[^"]*"|\'[^\']*\')', "", data.decode("utf-16"), count=1).encode()


def retagged(tag: bytes, **attributes: str) -> bytes:
    """Return a tag with other values for attributes that it has."""
    for name, value in attributes.items():
        tag = re.sub(
            rb"(\s%s\s*=\s*)(?:\"[^\"]*\"|'[^']*')" % name.encode(), rb'\g<1>"%s"' % value.encode(), tag, count=1
        )
    return tag
