from typing import Any

import pytest

from workbench.errors import InputError
from workbench.job.file import PromptMessage, PromptTable
from workbench.job.prompt import Prompt, request_body
from workbench.records.calls import Sample


def where(*place: str | int) -> str:
    return f"job.toml: prompt.{'.'.join(map(str, place))}"


def rendered(sample: Sample, **table: Any) -> list[dict[str, Any]]:
    return Prompt(PromptTable(**table), where).messages(sample)


def test_the_default_sends_the_input() -> None:
    assert rendered(Sample("1", "Hello\n")) == [{"role": "user", "content": "Hello\n"}]


@pytest.mark.parametrize("text", [" a\r\nb\n", "{{ input }} {% raw %} <b>&amp;", "\x00é\u2028😀"])
def test_the_default_is_what_its_template_gives(text: str) -> None:
    sample = Sample("s", text, metadata={"input": "other", "note": "x"})
    default = Prompt(PromptTable(), where).messages(sample)
    rendered = Prompt(PromptTable(template="{{ input}}"), where).messages(sample)  # told apart by a blank
    assert default == rendered == [{"role": "user", "content": text}]


def test_a_samples_columns_are_the_variables() -> None:
    sample = Sample("7", "Q", target="T", choices=("x", "y"), metadata={"language": "French"})
    template = "{{ id }} {{ input }} {{ language }} {{ metadata.language }} {% for c in choices %}{{ c }}{% endfor %}"
    assert rendered(sample, template=template, system="S")[0] == {"role": "system", "content": "S"}
    assert rendered(sample, template=template)[0]["content"] == "7 Q French French xy"


def test_messages_are_templates_too() -> None:
    messages = [PromptMessage("user", "a {{ input }}"), PromptMessage("assistant", "b")]
    assert [m["content"] for m in rendered(Sample("1", "x"), messages=messages)] == ["a x", "b"]


def test_a_sample_that_is_a_list_of_messages_is_sent_as_it_is() -> None:
    messages = [{"role": "user", "content": "{{ not a template }}", "name": "n"}]
    assert rendered(Sample("1", messages), system="S") == messages


def test_an_undefined_variable_names_the_sample_and_what_there_is() -> None:
    with pytest.raises(InputError) as caught:
        rendered(Sample("r9", "x", metadata={"question": "q"}), template="{{ questoin }}")
    assert "prompt.template: sample 'r9': 'questoin' is undefined" in str(caught.value)
    assert "question" in str(caught.value)


def test_a_row_without_an_input_column_has_no_input() -> None:
    row = {"body": "b"}
    assert rendered(Sample("1", row, metadata=row), template="{{ body }}")[0]["content"] == "b"
    with pytest.raises(InputError, match="'input' is undefined"):
        rendered(Sample("1", row, metadata=row))


def test_a_template_that_is_no_jinja_is_a_fault() -> None:
    with pytest.raises(InputError, match="not valid Jinja"):
        Prompt(PromptTable(template="{{ input"), where)


@pytest.mark.parametrize(
    ("template", "problem"),
    [("{{ input | random }}", "No filter named 'random'"), ("{{ lipsum() }}", "'lipsum' is undefined")],
)
def test_what_gives_another_prompt_at_every_run_is_refused(template: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        rendered(Sample("1", "x"), template=template)


@pytest.mark.parametrize("template", ["{{ ''.__class__.__mro__ }}", "{{ input.__init__.__globals__ }}"])
def test_templates_are_sandboxed(template: str) -> None:
    with pytest.raises(InputError):
        rendered(Sample("1", "x"), template=template)


def test_an_empty_list_of_tools_is_not_sent_and_a_samples_own_replace_the_jobs() -> None:
    tool = {"type": "function", "function": {"name": "f"}}
    assert request_body("m", [], {"tools": [], "tool_choice": "auto", "max_tokens": 1}, ()) == {
        "model": "m", "messages": [], "stream": False, "max_tokens": 1,
    }  # fmt: skip
    assert request_body("m", [], {"tools": [{"a": 1}]}, (tool,))["tools"] == [tool]


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ flag }}", "true"),
        ("{{ tags }}", '["a", "\u00e9"]'),
        ("{{ box }}", '{"a": [1, null]}'),
        ("{{ 'is ' ~ flag }}", "is true"),
        ("{{ number }}", "1.5"),
        ("{{ nothing or '' }}-", "-"),
        ("{{ 'Zo\u00eb <&>' | tojson }}", '"Zo\u00eb <&>"'),
        ("{{ tags | tojson }}", '["a", "\u00e9"]'),
        ("{{ box | tojson(indent=1) }}", '{\n "a": [\n  1,\n  null\n ]\n}'),
        ("{{ tags | tojson(2) ~ '<' }}", '[\n  "a",\n  "\u00e9"\n]<'),
        ("{% if nothing is none %}none{% endif %}", "none"),
    ],
)
def test_a_value_that_is_not_text_is_json(template: str, text: str) -> None:
    row = {"flag": True, "tags": ("a", "\u00e9"), "box": {"a": [1, None]}, "number": 1.5, "nothing": None}
    (message,) = rendered(Sample("1", row, metadata=row), template=template)
    assert message["content"] == text


def test_a_null_in_a_prompt_names_sample_and_column() -> None:
    row = {"nothing": None, "text": "x"}
    with pytest.raises(InputError, match="sample '7': 'nothing' is null"):
        rendered(Sample("7", row, metadata=row), template="{{ text }} {{ nothing }}")


def test_an_input_that_is_no_text_is_sent_as_json() -> None:
    assert rendered(Sample("1", True))[0]["content"] == "true"
    assert rendered(Sample("1", 1.5))[0]["content"] == "1.5"
