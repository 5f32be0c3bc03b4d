import time
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from workbench.records.calls import Sample, ToolCall
from workbench.running.signals import AbortedBySignal
from workbench.scoring.choice import Choice
from workbench.scoring.choices import chosen_letters
from workbench.scoring.exact import Exact
from workbench.scoring.given import Given
from workbench.scoring.includes import Includes
from workbench.scoring.json_fields import JsonFields
from workbench.scoring.letter import chosen_letter
from workbench.scoring.match import Match
from workbench.scoring.number import as_number, stated_number
from workbench.scoring.numeric import Numeric
from workbench.scoring.pattern import Pattern
from workbench.scoring.scorer import CannotJudgeError, Scorer
from workbench.scoring.scorers import judges, score
from workbench.scoring.tool_call import CalledTool
from workbench.scoring.tool_calls import CalledTools


def value(scorer: Scorer, answer: str | None, target: Any = None, choices: tuple[str, ...] = ()) -> float | None:
    return score(scorer, Given(answer or ""), Sample("1", "q", target, choices)).value


NOTATIONS = [
    ("\\frac{1}{2}", 0.5), ("\\boxed{\\dfrac{1}{2}}", 0.5), ("$\\boxed{-\\frac{3}{4}}$", -0.75), ("1{,}234", 1234), ("1\\,234", 1234),
    ("3 × 10^8", 300_000_000), ("3 \\times 10^{8}", 300_000_000), ("3·10⁸", 300_000_000), ("10⁻³", 0.001), ("10^6", 1_000_000),
    ("1'000'000", 1_000_000), ("1’000’000", 1_000_000), ("1 234,56", 1234.56), ("½", 0.5), ("The answer is ½.", 0.5), ("It is ⅛", 0.125), ("The answer is \\frac{3}{4}", 0.75), ("equals \\frac12", 0.5), ("2½", 2.5), ("2 1/2", 2.5),
    ("minus 5", -5), ("negative 5", -5), ("- 5", -5), ("x = - 5", -5), ("USD 5", 5), ("USD5", 5), ("5 EUR", 5), ("5EUR", 5),
    ("CHF 1'250.50", 1250.5), ("-$5", -5), ("$-5", -5), ("50 %", 50),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("The answer is 42.", 42),
        ("5 + 3 = 8, so the answer is 8", 8),
        ("The answer is 5 × 6 = 30.", 30),
        ("First 10, then 20", 20),
        ("She pays $1,234.50 in total", 1234.5),
        ("1 000 and then 2\u202f000", 2000),
        ("about -3.5e2", -350),
        ("−7", -7),
        ("3/4", 0.75),
        ("#### 1,200", 1200),
        ("so \\boxed{17} it is, after 3 tries", 17),
        ("**12**", 12),
        ("10-20", 20),
        ("- 5 apples", 5),
        (".5", 0.5),
        ("it weighs 3,14 kg", 3.14),
        ("1.234,56 €", 1234.56),
        ("12 000", 12000),
        ("1,2,3", 3),
        ("the point (3, 4)", 4),
        ("no number, v2x", None),
        ("", None),
        *NOTATIONS,
        ("The answer is:\n- 12", 12),
        ("Total:\n- 45 km", 45),
        ("The answer is 3.14. I rounded the answer to 2 decimal places.", 3.14),
        ("**Answer: 42**\n\nThis answer was derived in 3 steps.", 42),
        ("So the answer is \\boxed{12}. The answer has 2 digits.", 12),
        ("The answer is \\boxed{12}, with 3 steps.", 12),
        ("\\boxed{6.02\\times10^{23}}", 602 * 10**21),
        ("\\boxed{5\\times6=30}", 30),
        ("The area is 12 m^2", 12),
        ("The area is 50 cm**2", 50),
        ("The area is $50 \\text{ cm}^2$.", 50),
        ("Answer: 3 hours × 60 minutes = 180 minutes", 180),
        ("The answer is 20 apples - 5 apples = 15 apples.", 15),
        ("The answer is 50% of 200 = 100", 100),
        ("The answer is 100/3 ≈ 33.33", 33.33),
        ("The answer for n = 3 is 12", 12),
        ("Answer for x = 3: 12", 12),
        ("Answer: There are 12 apples for 3 people.", 12),
        ("After 3 steps, here is the final answer: 12", 12),
        ('{"final_answer": 12, "confidence": 95}', 12),
        ("\\boxed{\\frac{-1}{2}}", -0.5),
        ("\\boxed{\\cfrac{ 3 }{ 4 }}", 0.75),
        ("The price is ₹12,34,567", 1234567),
        ("Answer: 1.234.567", 1234567),
        ("The answer to question 3 is 12", 12),
        ("The answer to 3 is 12", 12),
        ("The answer for part 2 is: 15", 15),
        ("Thus the answer to 2 + 3 is 5", 5),
        ("The answer is 12, which is 3 more than 9", 12),
        ("The answer is 12 apples for 3 people", 12),
        ("the answer is 12 (x = 3)", 12),
        ("Answer: Tom has 3 apples and Ann has 4, so together 7.", 7),
        ("So 12 is the answer to question 3.", 12),
        ("the answer comes to 12 in 3 steps", 12),
        ("Answer: 2\n\nI checked 100 times.", 2),
        ("The answer is - 5", -5),
        ("the answer is minus 5", -5),
        ("10 minus 5", 5),
        ("10 - 5", 5),
        ("6.02 x 10^23", 602 * 10**21),
        ("12345678901234567890123", 12345678901234567890123),
    ],
)
def test_the_number_an_answer_settles_on(text: str, number: float | None) -> None:
    assert stated_number(text) == (None if number is None else Decimal(str(number)))


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Answer: B", "B"),
        ("The answer is B. Option A is incorrect because Paris is in France.", "B"),
        ("Option A is incorrect. The correct answer is B. Option C is also incorrect.", "B"),
        ("**Answer: B**\n\nOption C describes Oslo, which is wrong.", "B"),
        ("The correct answer is (C).", "C"),
        ("B) because A is wrong", "B"),
        ("**D**", "D"),
        ("A cat sat", None),
        ("I think that it depends.", None),
        ("In my answer I explain why.", None),
        ("A or B", None),
        ("Either (A) or (B).", None),
        ("The answer is B/C.", None),
        ("Between A or B, I choose B.", "B"),
        ("I choose option b", "B"),
        ("(b)", "B"),
        ("b", "B"),
        ("The answer is c.", "C"),
        ("(b), because C is wrong", "B"),
        ("The answer is a dog", None),
        ("C. Rome\n\nExplanation: Option A is incorrect because… Option B is incorrect…", "C"),
        ("**C. Rome**\n\n- Option A is wrong.\n- Option B is wrong.", "C"),
        ("C) Rome\n\nWhy not the others:\nOption A: a city elsewhere", "C"),
        ("C\n\nOption A is wrong since it is in France", "C"),
        ("C is correct. A and B are wrong.", "C"),
        ("Thus, B is the answer, and not C.", "B"),
        ("It is definitely not C.", None),
        ("Answer: A and B", None),
        ("Option A is wrong. Option C fits.", "C"),
        ("A. Paris is in France.\nB. Rome is in Italy.\n\nC. Oslo", "C"),
        ("Rather B than A", "B"),
        ("The answer is not A but D.", "D"),
        ("A is the only correct option.", "A"),
        ("Answer: C\n\nA is correct, but R is incorrect.", "C"),
        ("D. All of the above\n\nA is correct because x.\nB is correct because y.", "D"),
        ("The answer is D, since A is correct, and so are the others.", "D"),
        ("The correct answer is B.\n\nA is the right atrium, C is the right ventricle.", "B"),
        ("Answer: B. D is the worst option.", "B"),
        ("Answer: C is not a function of the liver.", "C"),
        ("A is wrong, and B is wrong.", None),
        ("The answer is C and A is wrong.", "C"),
        ("A and B are both right.", None),
        ("A: Option C", "C"),
        ("\\boxed{A}", "A"),
        ("nothing", None),
    ],
)
def test_the_choice_an_answer_settles_on(text: str, letter: str | None) -> None:
    assert chosen_letter(text, "ABCD") == letter


REJECTED = (
    "The answer isn't B", "The answer cannot be B.", "I don't think the answer is B.", "I do not believe B is correct.",
    "The wrong answer is B.", "The incorrect option is B.", "I would never choose B.", "B isn't right", "I rule out B.", "All except B",
    "No creo que sea B", "Je ne pense pas que B soit correct", "B is incorrect", "B ist falsch", "正解はBではありません",
    "London isn't the capital.", "It can't be London.", "London doesn't fit", "The capital is not London.", "London is wrong",
    "Anything but London", "I doubt it is London",
)  # fmt: skip
SEVERAL = ("B, C", "B; C", "B & C", "B+C", "[B, C]", "B, C and D", "B (or C)", "B and C", "B/C")
SETTLED = (
    "The answer is B, since A, C and D are wrong.", "I don't think it's A, so B", "I rule out A, so B.", "It isn't Paris. It is London.",
    "Answer: B, because C is wrong", "It can't be A, C or D. The answer is B.", "Options A, C, and D are incorrect. B",
    "The answer is B, I think.", "The answer is B, A being wrong", "A isn't right, C isn't either. B is correct.", "I doubt A. B.",
    "Answer: B (London)", "I would go with B, as A isn't right",
)  # fmt: skip
CAPITALS = ("Paris", "London", "Rome", "Berlin")


@pytest.mark.parametrize(
    ("answers", "right"), [(REJECTED, False), ([f"Answer: {listed}" for listed in SEVERAL], False), (SETTLED, True)]
)
def test_what_is_rejected_or_one_of_several_is_no_choice(answers: Sequence[str], right: bool) -> None:
    options = Choice().target_of(Sample("1", "What is the capital of England?", "B", CAPITALS))
    read = {answer: Choice().score(Given(answer), options).value == 1 for answer in answers}
    assert read == dict.fromkeys(answers, right)


@pytest.mark.parametrize(
    "answer", ["B is incorrect", "**B** is not a capital.", "London is wrong.", "The false option is B, as A is one"]
)
def test_what_is_rejected_answers_a_question_for_what_is_false(answer: str) -> None:
    options = Choice().target_of(Sample("1", "Which of these is not a capital?", "B", CAPITALS))
    assert Choice().score(Given(answer), options).value == 1


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("答案是C", "C"), ("故选C。", "C"), ("正解はCです。", "C"), ("정답은 C입니다.", "C"), ("所以选项C正确。", "C"), ("คำตอบคือC", "C"),
        ("答案是 C。选项 A 是错误的。", "C"), ("不是A，而是C。", "C"), ("选项A错误，选项C正确。", "C"), ("Aではなく、Cです。", "C"), ("答えはAではなくCです。", "C"),
        ("정답은 A가 아니라 C입니다.", "C"), ("ไม่ใช่ A แต่เป็น C", "C"), ("Die Antwort ist C, nicht A.", "C"), ("Nicht A, sondern C.", "C"),
        ("A ist falsch, C stimmt.", "C"), ("Ответ: C. Вариант A неверен.", "C"), ("Это не A, а C.", "C"), ("La réponse est la C.", "C"),
        ("Ce n'est pas A mais C.", "C"), ("La respuesta correcta es la C, no la A.", "C"), ("No es A sino C.", "C"), ("La risposta è C, non A.", "C"),
        ("A resposta é a C, não a A.", "C"), ("Het antwoord is C, niet A.", "C"), ("L'option A est fausse, C est juste.", "C"),
        ("After eliminating A and B, we are left with C.", "C"), ("Ruling out A and B leaves only C", "C"), ("A and B fail. C.", "C"),
        ("Between B and D, my pick is D", "D"), ("Thus A causes B, giving D", "D"), ("A, B and C are wrong. The rest: D", "D"),
        ("Answer: No (B)", "B"), ("No (B)", "B"),
        ("Vastaus on C, ei A.", None), ("B, C", None), ("Consider B, C and D together.", None),
    ],
)  # fmt: skip
def test_a_choice_is_read_in_other_languages(text: str, letter: str | None) -> None:
    assert chosen_letter(text, "ABCD") == letter


@pytest.mark.parametrize("text", ["Vastaus on C, ei A.", "الجواب الصحيح هو الخيار الثالث", "Odpowiedź to C, a nie A"])
def test_what_no_scorer_reads_is_unscored(text: str) -> None:
    found = score(Choice(), Given(text), Sample("1", "q", target="C", choices=("dog", "cat", "bird", "fish")))
    assert (found.value, found.reason) == (None, "no choice is told in a language that is read here")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("答案是42", 42), ("一共有42个苹果。", 42), ("因此答案为42元。", 42), ("答えは42です。", 42), ("合計42個", 42), ("총42개입니다.", 42),
        ("คำตอบคือ42", 42), ("答案是-42", -42), ("答案是1,234元", 1234), ("答案是 42", 42), ("答案是42元，每人分3个。", 42), ("负 5", -5),
        ("共3万人", 30_000), ("答えは1万5000円です。", 15_000), ("合計は12万8000円です", 128_000), ("1亿2000万", 120_000_000), ("3万5千", 35_000), ("Die Antwort ist 42, bei 3 Personen.", 42), ("Ответ: минус 5", -5), ("La réponse est moins 5.", -5),
    ],
)  # fmt: skip
def test_a_number_is_read_beside_other_scripts(text: str, number: int) -> None:
    assert stated_number(text) == number


@pytest.mark.parametrize(
    "text",
    [
        "The answer is 3x",
        "3x + 5",
        "\\sqrt{64}",
        "The answer is \\sqrt{64}.",
        "x \\ge 5",
        "x > 5",
        "x ≥ 5",
        "2π",
        "2\\pi",
        "√2",
    ],
)
def test_a_term_is_no_number(text: str) -> None:
    assert score(Numeric(), Given(text), Sample("1", "q", target="5")).value is None


@pytest.mark.parametrize(
    "text",
    ["x = 5", "So 3x = 15 and x = 5", "\\sqrt{25} = 5", "x \\ge 3, so at least 5", "<b>5</b>", "=> 5", "5 x 1 = 5"],
)
def test_a_number_beside_a_term_is_one(text: str) -> None:
    assert stated_number(text) == 5


@pytest.mark.parametrize("arguments", ["", " ", "null", '"null"', "{}", '""'])
def test_a_call_without_arguments_has_none(arguments: str) -> None:
    given = Given("", calls=[ToolCall(None, "get", arguments)])
    for scorer, target in (
        (CalledTool(), {"name": "get", "arguments": {}}),
        (CalledTools(), [{"name": "get", "arguments": {}}]),
    ):
        assert score(scorer, given, Sample("1", "q", target=target)).value == 1


def test_a_pattern_takes_the_group_that_took_part() -> None:
    scorer = Pattern(r"answer: (\w)|choice (\w)")
    for text in ("answer: B", "choice B"):
        assert score(scorer, Given(text), Sample("1", "q", target="B")).value == 1


WORDINGS = (
    "{L}", "{l}", "{L}.", "{L})", "({L})", "({l})", "**{L}**", "**{L}.**", "**({L})**", "`{L}`", "${L}$", "[{L}]", '"{L}"', "_{L}_",
    "Answer: {L}", "answer: {l}", "**Answer:** {L}", "**Answer: {L}**", "Answer: **{L}**", "Answer: ({L})", "The answer is {L}.",
    "The answer is {L}", "The answer is: {L}", "The correct answer is ({L}).", "The correct answer is **{L}**.",
    "The correct option is {L}.", "The answer is option {L}.", "Final answer: {L}", "My answer is {L} because it fits.",
    "{L} it is.", "After eliminating the rest, {L} remains.", "I choose {L}.", "I choose option {L}.", "I pick {L}", "I select ({L}).", "I settle on {L}.", "I would go with {L}.",
    "Having weighed the options, I settle on {L}.", "I'll go with {L}, since it fits.", "I opt for {L}.", "Therefore, {L}.",
    "So {L}.", "Thus, {L}", "Hence: {L}", "Therefore, the answer is {L}.", "<answer>{L}</answer>", "<answer>({L})</answer>",
    "<answer> {L} </answer>", '{{"answer": "{L}"}}', '```json\n{{"answer": "{L}"}}\n```', "#### {L}", "\\boxed{{{L}}}",
    "$\\boxed{{\\text{{{L}}}}}$", "\\boxed{{({L})}}", "{L}: it fits", "{L}. It is the only one.", "{L}) It is the only one.",
    "({L}) It is the only one.", "**{L}** is right", "{L} is right.", "{L} is correct because it fits.", "It is {L}.",
    "It must be {L}, as the rest is wrong.", "The right one is {L}!", "Let me think.\n\nFirst, no.\n\n{L}",
    "Reasoning takes time.\nAnswer:\n{L}", "Option {L}", "option {L}: it fits", "Choice {L}", "The best choice is {L}, I think.",
)  # fmt: skip


@pytest.mark.parametrize("letter", "ABCDEFGHIJ")
def test_every_wording_is_read_for_every_letter(letter: str) -> None:
    said = {wording: chosen_letter(wording.format(L=letter, l=letter.lower()), "ABCDEFGHIJ") for wording in WORDINGS}
    assert {wording for wording, found in said.items() if found != letter} == set()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Carbon dioxide", 1), ("Plants take up carbon dioxide.", 1), ("Oxygen is given off.\n\nThey take up carbon dioxide!", 1),
        ("It is dioxide.", 0), ("It is not oxygen but carbon dioxide.", 0), ("Oxygen and carbon dioxide.", 0), ("Nitrogen.", 0),
    ],
)  # fmt: skip
def test_an_option_may_be_stated_in_words(answer: str, expected: float) -> None:
    assert value(Choice(), answer, "C", ("dioxide", "oxygen", "carbon dioxide")) == expected


@pytest.mark.parametrize(
    ("scorer", "answer", "target", "expected"),
    [
        (Exact(), " Paris\n", "Paris", 1),
        (Exact(), "paris", "Paris", 0),
        (Exact(ignore_case=True), "paris", "Paris", 1),
        (Exact(ignore_case=True, ignore_punctuation=True), "Paris!", ["London", "paris"], 1),
        (Exact(), "4", 4, 1),
        (Exact(), "10²", "102", 0),
        (Exact(), "10²", "10^2", 1),
        (Exact(), "10⁻³", "10^−3", 1),
        (Exact(), "H₂O", "H2O", 1),
        (Exact(), "Ca²⁺", "Ca2+", 1),
        (Exact(), "50 m²", "50 m2", 1),
        (Exact(ignore_punctuation=True), "“Paris”", "Paris", 1),
        (Exact(ignore_punctuation=True), "巴黎。", "巴黎", 1),
        (Exact(), "5", 5.0, 1),
        (Exact(), "5.0", 5.0, 1),
        (Exact(), "2.5", 2.5, 1),
        (Exact(), "1e+300", 1e300, 1),
        (Exact(), "-5", [4.0, -5.0], 1),
        (Includes(), "It is Paris, surely", "PARIS", 1),
        (Includes(ignore_case=False), "It is Paris", "PARIS", 0),
        (Includes(), "x", ["y", "x"], 1),
        (Includes(), "x", "", None),
        (Numeric(), "The answer is 4.", "4", 1),
        (Numeric(), "The answer is 4.1", 4, 0),
        (Numeric(tolerance=0.2), "4.1", 4, 1),
        (Numeric(relative_tolerance=0.1), "109", 100, 1),
        (Numeric(), "none", 4, 0),
        (Numeric(), "18", "16 - 3 - 4 = 9 … 9 * 2 = 18 #### 18", 1),
        (Numeric(), "4", "four", None),
        (Numeric(), "The answer is 3", "2\\sqrt{3}", None),
        (Numeric(), "1.5 billion", "1.5 million", None),
        (Numeric(), "9:30", "10:30", None),
        (Numeric(), "2021-07-01", "2024-05-01", None),
        (Numeric(), "x^2+1", "x^3+1", None),
        (Numeric(), "18", "18 apples", 1),
        (Numeric(), "18", "She has 16 - 7 = 9 eggs.\nThey cost 9 * 2 = 18 dollars", 1),
        (Numeric(), "$18", "16 - 7 = 9, and 9 * 2 = $18.", 1),
        (Numeric(), "1", "y = x^3+1", None),
        (Numeric(), "20", "20 m^2", 1),
        (Numeric(), "9.8", "9.8 m/s^2", 1),
        (Numeric(), "24", "$24\\text{ cm}^2$", 1),
        (Numeric(), "15", "5 * 3 = 15 dollars", 1),
        (Numeric(), "7", "She has 3 apples and buys 4, so she has 7 apples.", 1),
        (Numeric(), "18", "She has 3 of 6, so the answer is 18.", 1),
        (Numeric(), "4", float("nan"), None),
        (Numeric(), "4", "", None),
        (Numeric(), "4", "nan", None),
        (Numeric(), "12345678901234567891", 12345678901234567890, 0),
        (Numeric(), "12345678901234567890", "12345678901234567890", 1),
        (Numeric(), "-12345678901234567890123456789012399", "-12345678901234567890123456789012345", 0),
        (Numeric(), "minus 12345678901234567890123456789012399", "-12345678901234567890123456789012345", 0),
        (Numeric(), "-12345678901234567890123456789012345", "-12345678901234567890123456789012345", 1),
        (Numeric(), "0", 1.602e-19, 0),
        (Numeric(), "1.602 × 10^-19", 1.602e-19, 1),
        (Numeric(tolerance=0.3), "4.3", 4, 1),
        (Numeric(), "30%", "30", 1),
        (Pattern(pattern=r"\byes\b"), "Yes!", None, 1),
        (Pattern(pattern=r"\byes\b"), "no", None, 0),
        (Pattern(pattern=r"result: (\w+)"), "Result: Foo", "foo", 1),
        (Pattern(pattern=r"result: (\w+)"), "Result: Foo", None, None),
        (Choice(), "Answer: B", "B", 1),
        (Choice(), "I settle on B.", "A", 0),
    ],
)
def test_scorers(scorer: Scorer, answer: str, target: Any, expected: float | None) -> None:
    assert value(scorer, answer, target) == expected


def test_a_choice_target_may_be_a_letter_the_options_text_or_its_number() -> None:
    options = ("three", "four", "five")
    assert value(Choice(), "B", "b", options) == 1
    assert value(Choice(), "B", "Four", options) == 1
    assert value(Choice(), "B", 1, options) == 1
    assert value(Choice(), "four", "B", options) == 1
    assert value(Choice(), "D", "B", options) == 0
    assert value(Choice(), "B", "seven", options) is None
    assert value(Choice(), "B", "②", options) is None, "a digit, but no number that Python reads"
    assert value(Choice(), "Z", 29, tuple(map(str, range(100, 130)))) is None, "beyond the letters"


@pytest.mark.parametrize(
    ("texts", "target", "right"),
    [
        (("5", "-5", "0", "1"), "-5", "B"), (("x > 0", "x < 0"), "x < 0", "B"), (("C", "C++", "C#"), "C#", "C"),
        (("(0, 1)", "[0, 1]"), "[0, 1]", "B"), (("Aa", "AA", "aa"), "aa", "C"), (("1/2", "12"), "12", "B"),
        (("5%", "$5"), "$5", "B"), (("m²", "m2"), "m2", "B"), (("Paris.", "Rome."), "rome", "B"),
        (("B", "A"), "A", None), (("x-1", "x+1"), "x 1", None),
    ],
)  # fmt: skip
def test_options_that_differ_by_a_sign_are_told_apart(texts: tuple[str, ...], target: str, right: str | None) -> None:
    for place, letter in enumerate("ABCD"[: len(texts)]):
        expected = None if right is None else float(letter == right)
        assert value(Choice(), f"The answer is {letter}.", target, texts) == expected
        if len(texts[place]) > 1 and right is not None:
            assert value(Choice(), texts[place], target, texts) == expected, "stated in words"


def test_a_whole_number_as_target_counts_options_and_a_text_names_one() -> None:
    assert value(Choice(), "B", 1, ("1", "2", "3")) == 1
    assert value(Choice(), "B", 1.0, ("1", "2", "3")) == 1
    assert value(Choice(), "A", "1", ("1", "2", "3")) == 1


@pytest.mark.parametrize(("text", "number"), [("3,14", 3.14), ("1,234", 1234), ("1_0", None), ("12 000", 12000)])
def test_a_target_that_is_a_number(text: str, number: float | None) -> None:
    assert as_number(text) == (None if number is None else Decimal(str(number)))


@pytest.mark.parametrize(
    ("scorer", "target"),
    [
        (Exact(), None), (Exact(), {"a": 1}), (Numeric(), "many"), (Choice(), "Z9"), (Pattern("(x)"), None),
        (JsonFields(), "text"), (CalledTool(), {"arguments": {}}),
    ],
)  # fmt: skip
def test_what_a_scorer_cannot_judge_by_is_told_before_and_unscored_after(scorer: Scorer, target: Any) -> None:
    sample = Sample("1", "q", target)
    assert not judges(scorer, sample)
    assert score(scorer, Given("x"), sample).value is None


@pytest.mark.parametrize(
    ("scorer", "target"),
    [
        (Exact(), "a"), (Includes(), 5), (Numeric(), "so 7"), (Choice(), "B"), (Pattern("x"), None),
        (JsonFields(), {"a": 1}), (CalledTool(), {"name": "f"}),
    ],
)  # fmt: skip
def test_what_a_scorer_can_judge_by(scorer: Scorer, target: Any) -> None:
    sample = Sample("1", "q", target)
    assert judges(scorer, sample)
    assert score(scorer, Given("x"), sample).value is not None


@pytest.mark.parametrize("scorer", [Exact(), Includes(), Numeric(), Choice()])
def test_without_text_or_target_an_answer_is_unscored(scorer: Scorer) -> None:
    assert value(scorer, None, "x") is None
    assert value(scorer, "  ", "x") is None
    assert value(scorer, "x", None) is None


def test_a_scorer_that_breaks_leaves_the_answer_unscored(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = Sample("1", "q", target=[object()], choices=("a",))
    monkeypatch.setattr("workbench.scoring.exact.folded", lambda *a, **k: 1 / 0)
    verdict = score(Exact(), Given("x"), sample)
    assert verdict.value is None
    assert "ZeroDivisionError" in verdict.reason


def test_a_signal_is_no_fault_of_a_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    def told_to_stop(*_: object, **__: object) -> str:
        raise AbortedBySignal("Ctrl-C")

    monkeypatch.setattr("workbench.scoring.exact.folded", told_to_stop)
    with pytest.raises(AbortedBySignal):
        score(Exact(), Given("x"), Sample("1", "q", target="x"))


@pytest.mark.slow
def test_a_search_that_would_take_years_is_given_up() -> None:
    sample = Sample("1", "q", target=2)
    begin = time.thread_time()
    verdict = score(Pattern("(a|aa)+$"), Given(f"{60 * 'a'}b"), sample)
    assert time.thread_time() - begin < 5
    assert (verdict.value, verdict.reason) == (None, "the search for the pattern was given up after 1 s")


def test_an_article_is_no_choice() -> None:
    for answer in ("A cube has six faces.\n\n**C**", "A whale is a mammal, and so is a bat. (C)", "A close call.\nC"):
        assert chosen_letter(answer, "ABCD") == "C"
    assert chosen_letter("A", "ABCD") == chosen_letter("A.", "ABCD") == chosen_letter("**A** is right", "ABCD") == "A"


@pytest.mark.parametrize(
    "text",
    ["The answer is not 12.", "The answer cannot be 12.", "It is neither 10 nor 12.", "Die Antwort ist nicht 12.",
     "La réponse n'est pas 12.", "答案不是12", "The answer is 12 or 13.", "Answer: 12, 13 or 14", "\\boxed{12 \\text{ or } 4}"],
)  # fmt: skip
def test_a_number_that_is_denied_or_one_of_several_is_not_stated(text: str) -> None:
    assert not value(Numeric(), text, 12)


@pytest.mark.parametrize(
    ("text", "number"),
    [("It is not 10 but 12", 12), ("12, not 10", 12), ("Answer: 12, because 13 is odd", 12), ("The answer is 1/2 or 0.5", 0.5),
     ("The answer is 2^10 = 1024", 1024), ("\\boxed{- 12}", -12), ("#### - 12", -12), ("Answer (2 decimal places): 3.14", 3.14),
     ("Answer 3: 12", 12), ("I give this 3 out of 5.", 3), ("Grade: 4 on a scale from 0 to 5", 4), ("Answer:\n- 12 apples", 12)],
)  # fmt: skip
def test_the_number_that_is_meant_is_read(text: str, number: float) -> None:
    assert value(Numeric(), text, number) == 1


@pytest.mark.parametrize(
    "text", ["sqrt(64)", "\\boxed{\\frac{\\sqrt{3}}{2}}", "The answer is 2^10.", "log(100)", "3 pi", "2i"]
)
def test_a_term_is_no_number_in_answers_and_in_targets(text: str) -> None:
    assert value(Numeric(), text, 2) is None
    with pytest.raises(CannotJudgeError):
        Numeric().target_of(Sample("1", "q", text))


@pytest.mark.parametrize("target", ["$1.5M", "5k", "3 bn"])
def test_an_abbreviated_amount_is_no_target(target: str) -> None:
    with pytest.raises(CannotJudgeError):
        Numeric().target_of(Sample("1", "q", target))


@pytest.mark.parametrize(
    "text", ["4 out of 5", "Grade: 4/5", "4 of 5", "Note: 4 von 5", "4 sur 5", "Grade: 4 (out of 5)", "**4/5**\nGood."]
)
def test_a_grade_is_read_of_the_most_on_its_scale(text: str) -> None:
    assert value(Numeric(target_scale=(0, 5)), text, 4) == 1
    assert value(Numeric(target_scale=(0, 1)), "4/5", 0.8) == 1, "of another scale it is a fraction"


@pytest.mark.parametrize(
    ("text", "letters"),
    [("The incorrect options are A and C.", ""), ("None of the options A, C", ""), ("A: true, B: false, C: true, D: false", "AC"),
     ("Options A and C are correct because they fit\nOption B is wrong.", "AC"), ("A\nC", "AC"), ("The answers are A and C, B is wrong", "AC")],
)  # fmt: skip
def test_several_letters_are_those_that_are_called_right(text: str, letters: str) -> None:
    assert "".join(sorted(chosen_letters(text))) == letters


@pytest.mark.parametrize(
    ("text", "letter"),
    [("A. Paris - incorrect\nB. London - correct\nC. Rome - incorrect", "B"), ("A: false\nB: true\nC: false", "B"),
     ("A. Paris ✗\nB. London ✓", "B"), ("A. It is false\nB. It is true\nC. It is true", None), ("Answer: C\nA. no\nB. no", "C")],
)  # fmt: skip
def test_an_option_is_chosen_where_it_alone_is_called_right(text: str, letter: str | None) -> None:
    assert chosen_letter(text, "ABCD") == letter


@pytest.mark.parametrize(
    ("answer", "target", "right"),
    [("The answer is \u22125", "5", 0), ("\u22125", "-5", 1), ("10^5", "5", 0), ("2*5", "5", 0), ("Grade: A-", "A", 0),
     ("Grade: A-", "A-", 1), ("Grade: B", "B-", 0), ("yes - no", "no", 1)],
)  # fmt: skip
def test_a_match_is_of_a_whole_number_or_grade(answer: str, target: str, right: float) -> None:
    assert value(Match(), answer, target) == right


def test_digits_that_begin_with_zero_are_a_code() -> None:
    assert value(JsonFields(), '{"zip": 2134}', {"zip": "02134"}) == 0
    assert (
        value(JsonFields(), '{"zip": "02134"}', {"zip": "02134"}) == value(JsonFields(), '{"n": 12}', {"n": "12"}) == 1
    )


@pytest.mark.parametrize("target", [[{"f": {"number": [5]}}], [["a", "b"]], {"f": 5}])
@pytest.mark.parametrize("scorer", [Exact(), Numeric(), Includes()])
def test_no_text_is_compared_with_what_is_none(scorer: Scorer, target: Any) -> None:
    """`numeric` took the 5 of `{'f': {'number': [5]}}`, and `exact` that text for the right answer."""
    assert not judges(scorer, Sample("s", "q", target))
