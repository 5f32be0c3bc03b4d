"""Facts out of running text: `label: value` lines, and values recognised by their form."""

import json
import re
from typing import Any

from workbench.local_platform.skills.numbers import numbers_in

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_URL = re.compile(r"https?://[^\s)>\]\"']+")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_DATE = re.compile(
    rf"\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b\d{{1,2}}\.? {_MONTH} \d{{4}}\b"
    rf"|\b{_MONTH} \d{{1,2}}, \d{{4}}\b|\b\d{{1,2}}/\d{{1,2}}/\d{{4}}\b"
)
_TIME = re.compile(r"\b\d{1,2}:\d{2}(?:\s*[ap]m)?\b", re.IGNORECASE)
_MONEY = re.compile(
    r"(?:[$€£]|\b(?:USD|EUR|GBP)\s?)\s?(\d[\d,]*(?:\.\d+)?)|(\d[\d,]*(?:\.\d+)?)\s?(?:[$€£]|USD|EUR|GBP|dollars|euros)"
)
_PHONE = re.compile(r"\+?\d[\d ()-]{6,}\d")
_NAME = re.compile(r"\b(?:[A-Z][a-zà-öø-ÿ'’-]+ )+[A-Z][a-zà-öø-ÿ'’-]+\b")
_PLACE = re.compile(r"\b(?:in|at|from|to|near)\s+((?:[A-Z][\w'’-]+)(?: [A-Z][\w'’-]+)*)")
_QUOTED = re.compile(r"[\"“]([^\"”]+)[\"”]|`([^`]+)`")
_KEYS = re.compile(
    r"(?:keys?|fields?|extract|properties)\b[^:\n]*?:?\s+((?:[`\"']?\w+[`\"']?(?:,\s*(?:and\s+)?|\s+and\s+))+[`\"']?\w+[`\"']?)",
    re.IGNORECASE,
)
_LABELLED = re.compile(r"^\s*[-*]?\s*([A-Za-z][\w ]{0,30}?)\s*[:=]\s*(.+?)\s*$", re.MULTILINE)
_NUMERIC_WORDS = {
    "age",
    "quantity",
    "count",
    "number",
    "total",
    "year",
    "items",
    "guests",
    "seats",
    "nights",
    "people",
}


def extract(prompt: str) -> str:
    """Answer with one JSON object of the keys the prompt asks for, or of all labelled values it holds."""
    keys = requested_keys(prompt)
    labelled = {label.strip().casefold().replace(" ", "_"): value for label, value in _LABELLED.findall(prompt)}
    if not keys:
        return json.dumps({key: _plain(value) for key, value in labelled.items()}, ensure_ascii=False)
    found = {
        key: _plain(labelled[key.casefold()]) if key.casefold() in labelled else value_for(key, prompt) for key in keys
    }
    return json.dumps(found, ensure_ascii=False)


def requested_keys(prompt: str) -> list[str]:
    """The key names that a prompt lists after words such as `keys` or `extract`, in order."""
    match = _KEYS.search(prompt)
    if match is None:
        return []
    names = re.split(r",\s*(?:and\s+)?|\s+and\s+", match.group(1))
    return [name.strip("`\"' ") for name in names if name.strip("`\"' ")]


def value_for(key: str, text: str) -> Any:
    """The value in a text that suits a key by the key's name; None when nothing does."""
    name = key.casefold()
    for hints, pattern in (
        (("mail",), _EMAIL),
        (("url", "link", "website"), _URL),
        (("date", "day", "deadline", "due"), _DATE),
        (("time", "hour"), _TIME),
        (("phone", "tel"), _PHONE),
    ):
        if any(hint in name for hint in hints):
            match = pattern.search(text)
            return match.group() if match else None
    if any(hint in name for hint in ("amount", "price", "cost", "total", "fee", "salary")) and (
        match := _MONEY.search(text)
    ):
        return _number((match.group(1) or match.group(2)).replace(",", ""))
    return _worded(key, name, text)


def _worded(key: str, name: str, text: str) -> Any:
    if any(hint in name for hint in ("city", "place", "location", "country", "venue", "destination")):
        match = _PLACE.search(text)
        return match.group(1) if match else None
    if beside := re.search(
        rf"(\d[\d,]*(?:\.\d+)?)\s+{re.escape(name.rstrip('s'))}|{re.escape(name)}\s+(?:of\s+|is\s+)?(\d[\d,.]*\d|\d)",
        text,
        re.IGNORECASE,
    ):
        return _number((beside.group(1) or beside.group(2)).replace(",", ""))
    if name in _NUMERIC_WORDS and (numbers := numbers_in(text)):
        return float(numbers[0]) if numbers[0].denominator != 1 else numbers[0].numerator
    if any(hint in name for hint in ("name", "person", "customer", "author", "speaker", "sender")) and (
        match := _NAME.search(text)
    ):
        return match.group()
    if match := _QUOTED.search(text):
        return match.group(1) or match.group(2)
    match = re.search(rf"\b{re.escape(key)}\b\s+(?:is|was|:)?\s*([\w-]+)", text, re.IGNORECASE)
    return match.group(1) if match else None


def _plain(value: str) -> Any:
    return _number(value.replace(",", "")) if re.fullmatch(r"-?\d[\d,]*(?:\.\d+)?", value) else value


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)
