"""Prompts and parameters beside each other, and answers that are asked once more."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.conftest import Workbench, job, sums
from tests.pages import Page

VARIANTS = """
[[variants]]
name = "plain"
[[variants]]
name = "terse"
temperature = 0.5
prompt = { system = "Answer with the number alone.", template = "{{ input }}" }
"""


@pytest.fixture
def varied(bench: Workbench) -> Workbench:
    bench.write("sums.jsonl", sums(6))
    bench.write("job.toml", job("sim/instant", "Abacus Mini [fast]") + VARIANTS)
    return bench


def sent(bench: Workbench, run_id: str) -> list[dict[str, Any]]:
    frame = wb.open(folder=bench.folder).answers(run_id)
    return list(frame.to_dict(orient="records"))


def test_models_variants_and_epochs_multiply_and_plan_says_to_how_much(varied: Workbench) -> None:
    assert "24 requests: 6 samples × 2 variants × 2 models × 1 epoch" in varied("plan", "job.toml").stdout
    planned = varied.json("plan", "job.toml", "--show", "6")
    assert (planned["samples"], planned["variants"], planned["planned"]) == (6, ["plain", "terse"], 24)
    first, *_, third = (request for request in planned["requests"] if request["model"] == "sim/instant")
    bodies = [request for request in planned["requests"] if request["model"] == "sim/instant"]
    assert [len(body["messages"]) for body in bodies[:2]] == [1, 2]
    assert [body.get("temperature") for body in bodies[:2]] == [None, 0.5]
    assert first["messages"] != third["messages"]


@pytest.mark.slow
def test_every_variant_is_scored_compared_and_paged_like_a_model(varied: Workbench) -> None:
    result = varied.json("run", "job.toml")
    assert (result["planned"], result["completed"]) == (24, 24)
    names = ["sim/instant · plain", "sim/instant · terse", "Abacus Mini [fast] · plain", "Abacus Mini [fast] · terse"]
    scores = varied.json("show", "last")["scores"]
    assert sorted(row["model"] for row in scores) == sorted(names)
    assert [row["samples"] for row in scores] == [6] * 4
    found = varied.json("compare", "--baseline", "sim/instant · plain")
    assert [one["side"]["model"] for one in found["differences"]] == names[1:]
    assert all(one["shared"] == 6 for one in found["differences"])
    page = Page(result["report"])
    assert all(name in page.text for name in names)
    page.check(varied.ledger)
    rows = sent(varied, result["run_id"])
    assert {(row["requested_model"], row["variant"]) for row in rows} == {
        (model, variant) for model in ("sim/instant", "Abacus Mini [fast]") for variant in ("plain", "terse")
    }
    assert len({row["sample_key"] for row in rows}) == 6, "one sample, whatever the prompt"
    assert "sim/instant · terse" in varied("export", "--format", "junit").stdout
    varied("ledger", "check")


def test_what_differs_by_variant_or_by_model_is_said_once_for_each(varied: Workbench) -> None:
    two = 'models = [{ id = "sim/instant", seed = 7 }, "sim/extract"]'
    text = job("sim/instant").replace('models = ["sim/instant"]', two)
    varied.write("job.toml", text + VARIANTS.replace("{{ input }}", "{{ input }}\\nA number."))
    varied("run", "job.toml", "--no-report")
    notes = varied.json("compare", "--no-report")["notes"]
    differing = [note for note in notes if "differs between" in note]
    assert differing == [
        "seed differs between the models: 7 (sim/instant); as the job (sim/extract).",
        "temperature differs between the variants: as the job (plain); 0.5 (terse).",
        "prompt.system differs between the variants: as the job (plain); “Answer with the number alone.” (terse).",
        "prompt.template differs between the variants: as the job (plain); “{{ input }} ⏎ A number.” (terse).",
    ]


def test_what_is_known_is_not_asked_again_when_a_variant_is_added(varied: Workbench) -> None:
    varied.json("run", "job.toml", "--no-report")
    varied.write(
        "job.toml",
        job("sim/instant", "Abacus Mini [fast]") + VARIANTS + '[[variants]]\nname = "hot"\ntemperature = 2\n',
    )
    again = varied.json("run", "job.toml", "--no-report")
    assert (again["reused"], again["completed"]) == (24, 12)
    varied.write("job.toml", job("sim/instant", "Abacus Mini [fast]"))
    assert varied.json("run", "job.toml", "--no-report")["reused"] == 12, (
        "the variant without fields asks what the job asks"
    )


@pytest.mark.parametrize(
    ("variants", "said"),
    [
        ('[[variants]]\nname = "a"\n[[variants]]\nname = "a"\nseed = 1\n', "variants[1].name: 'a' is given twice"),
        ('[[variants]]\nname = "a"\n[[variants]]\nname = "b"\n', "variants[1]: asks the same as 'a'"),
        ("[[variants]]\nseed = 1\n", "variants[0].name: expected 1 to 100 printable characters"),
        ('[[variants]]\nname = "a"\ntemprature = 1\n', "did you mean 'temperature'?"),
        ('[[variants]]\nname = "a"\nprompt = { template = "" }\n', "variants[0].prompt.template: is empty"),
        (
            '[[variants]]\nname = "a"\nprompt = { template = "{{ inptu }}" }\n',
            "job.toml:15: variants[0].prompt.template",
        ),
    ],
)
def test_variants_that_cannot_be_are_named(bench: Workbench, variants: str, said: str) -> None:
    bench.write("sums.jsonl", sums(2))
    bench.write("job.toml", job() + variants)
    assert said in bench("run", "job.toml", code=2).stderr


@pytest.fixture
def cut(bench: Workbench) -> Workbench:
    """Two short answers and a long one that its limit cuts off."""
    rows = [{"id": f"s{n}", "input": f"What is {n} + 1?", "target": n + 1} for n in range(2)]
    rows.append({"id": "long", "input": "What is " + " + ".join(["123456789123456789"] * 3) + "?", "target": 1})
    bench.write("sums.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    bench.write("job.toml", job().replace("max_tokens = 64", "max_tokens = 12"))
    return bench


def outcomes(bench: Workbench) -> dict[str, str]:
    return {call["sample_id"]: call["outcome"] for call in bench.lines("show", "last", "--calls")}


@pytest.mark.slow
def test_only_what_was_cut_off_is_asked_again_with_a_larger_cap(cut: Workbench) -> None:
    first = cut.json("run", "job.toml", "--no-report")
    short = [sample for sample, outcome in outcomes(cut).items() if outcome == "ok"]
    assert short
    assert len(short) < 3, outcomes(cut)
    again = cut.json("run", "job.toml", "--no-report", "--again", "truncated", "--max-tokens", "200")
    assert (again["reused"], again["completed"]) == (len(short), 3 - len(short))
    assert set(outcomes(cut).values()) == {"ok"}
    known = cut.json("run", "job.toml", "--no-report", "--again", "truncated", "--max-tokens", "200")
    assert known["reused"] == 3, "what was asked with this cap is not asked again"
    assert cut.json("run", "job.toml", "--no-report")["reused"] == 3
    for earlier, later in ((first, again), (again, first)):  # ids of one second sort by chance
        notes = cut.json("compare", earlier["run_id"], later["run_id"])["notes"]
        caps = {first["run_id"]: "12", again["run_id"]: "12 to 200"}
        told = ", ".join(f"sim/instant in {run['run_id']} {caps[run['run_id']]}" for run in (earlier, later))
        assert f"Answers were capped at different numbers of tokens: {told}." in notes
    cut("ledger", "check")


@pytest.mark.slow
def test_the_command_that_continues_says_what_was_asked_again(cut: Workbench) -> None:
    long = [{"id": f"l{n}", "input": f"What is {n} + " + "123456789123456789 + " * 3 + "1?"} for n in range(3)]
    cut.write("sums.jsonl", "".join(json.dumps(row | {"target": 1}) + "\n" for row in long))
    cut("run", "job.toml", "--no-report")
    assert "ok" not in outcomes(cut).values()
    cut.write("job.toml", (cut.folder / "job.toml").read_text() + "[budget]\nrequests = 2\n")
    cut("run", "job.toml", "--no-report", "--again", "truncated", "--max-tokens", "200", "--limit", "3", code=7)
    said = cut("show", "last").stderr.split("continue with: ")[1].splitlines()[0]
    assert "--limit 3 --again truncated --max-tokens 200" in said
    assert said in cut("runs").stderr
    continued = cut.json(*shlex.split(said)[1:], "--no-report")
    assert (continued["reused"], continued["completed"]) == (2, 1)
    assert set(outcomes(cut).values()) == {"ok"}


def test_samples_that_were_taken_out_are_asked_again_where_told_to(cut: Workbench) -> None:
    assert (
        "no sample of a run of 'sums' is taken out" in cut("run", "job.toml", "--again", "invalidated", code=2).stderr
    )
    cut.json("run", "job.toml", "--no-report")
    cut("invalidate", "last", "--sample", "s1", "--reason", "odd")
    again = cut.json("run", "job.toml", "--no-report", "--again", "invalidated")
    assert (again["reused"], again["completed"]) == (2, 1)
    assert "is taken out and not yet asked again" in cut("run", "job.toml", "--again", "invalidated", code=2).stderr
    assert cut.json("run", "job.toml", "--no-report")["reused"] == 3, "the newer answer stands"


def test_asking_again_needs_what_it_needs(cut: Workbench) -> None:
    assert "needs the higher cap" in cut("run", "job.toml", "--again", "truncated", code=2).stderr
    assert "goes with --again truncated only" in cut("run", "job.toml", "--max-tokens", "9", code=2).stderr
    assert "cannot be combined" in cut("run", "job.toml", "--again", "invalidated", "--fresh", code=2).stderr
    lower = cut("run", "job.toml", "--again", "truncated", "--max-tokens", "1", code=2)
    assert "--max-tokens: 1 is not above the cap of the job's requests" in lower.stderr
    assert Path(cut.folder / "job.toml").exists()
