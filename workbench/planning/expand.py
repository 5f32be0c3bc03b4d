"""A job times its dataset: every request by its key, with its texts on disk and only numbers in memory."""

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from workbench.dataset.repeated_ids import RepeatedIds
from workbench.dataset.samples import ContentHash, IdGlobs, Row, selected_rows
from workbench.dataset.spool import Spool
from workbench.errors import Fault, InputError
from workbench.job.file import BudgetTable
from workbench.job.job import Job, Variant
from workbench.job.prompt import prompts_of, request_body, tools_asked, variables_of
from workbench.ledger.queries import Reader
from workbench.ledger.rows import AcceptedAnswer, AnsweredByAnother, KnownSample
from workbench.ledger.usage_rows import EarlierLatency
from workbench.planning.again import ReaskPlan, with_raised_limit
from workbench.planning.answer_key import MORE, TOGETHER, AnswerKeyWriter, Question
from workbench.planning.models import PlannedModel, reserve_of
from workbench.planning.order import Expected, longest_first
from workbench.planning.prompt_checks import PromptChecks
from workbench.planning.scorers import JudgeColumns, OptionNumbers, TargetScales
from workbench.records.calls import CLUSTER, ChatRequest, Sample, SampleContent
from workbench.records.keys import body_key, canonical, content_key, request_key, sample_key
from workbench.scoring.custom import Custom
from workbench.scoring.scorers import can_judge, judges

_KEY_BYTES = 32
_LOOKED_UP_AT_ONCE = 20_000


class EarlierAnswer(msgspec.Struct, frozen=True):
    """Where the answer is found that stands."""

    run_id: str
    call_no: int
    generation: str
    accepted: bool
    """False: there is none, and no rerun is worth it."""


class _Spooled(msgspec.Struct, frozen=True, array_like=True):
    """A sample as it waits on disk."""

    sample_id: str
    sample_key: str
    occurrences: tuple[int, ...]
    """By model: 0, or how many equal requests of that model stand before it in the dataset."""
    messages: msgspec.Raw
    tools: tuple[dict[str, Any], ...]
    sample: str
    number: int
    """Of the rows with its id."""
    cluster: str | None


class PlannedItem(msgspec.Struct, frozen=True):
    """One item of a plan, ready to be sent."""

    request: ChatRequest
    body_key: str
    tools: str | None
    """`forced` or `offered`; None when no tools are sent."""
    sample: str
    """The sample's content as JSON, for the ledger."""

    @property
    def content_key(self) -> str:
        """Under which key the ledger holds that."""
        return self.request.content_key or self.request.sample_key


class SmallBudgetError(InputError):
    """A budget of tokens has no room for a single request, which may use at least so many."""

    def __init__(self, where: str, tokens: int, least: int) -> None:
        problem = f"{tokens} tokens are fewer than one request may use ({least})"
        super().__init__(Fault(where, problem, "raise it, or lower max_tokens"))
        self.tokens, self.least = tokens, least


class Plan:
    """Every request of a run: `samples x variants x models x epochs` items, numbered.

    Item `((sample * variants + variant) * models + model) * epochs + epoch`, all counted from 0.
    """

    def __init__(self, job: Job, models: tuple[PlannedModel, ...], identity: str, spool: Spool) -> None:
        self.job = job
        self.models = models
        self.identity = identity
        self.dataset_hash = ""
        self.ids = RepeatedIds()
        self.are_clustered = job.dataset.cluster is not None
        """Whether it is said which samples belong together."""
        self.mixes_messages = False
        """Whether a sample brings its own messages."""
        self.samples_bring_tools = False
        self.is_constant = True  # all samples give the same messages
        self.has_different_inputs = False
        self.columns: frozenset[str] = frozenset()
        """What a template may name, of the first sample."""
        self.checks = PromptChecks()
        self.globs = IdGlobs(job.dataset.sample_ids)
        self._least_tokens: int | None = None  # what the cheapest request may use at most; None: no token budget
        self.unjudged: dict[str, int] = {}
        """By scorer: how many samples have no target that it can judge by."""
        self.failing: dict[str, tuple[str, bool]] = {}
        """By a scorer of the job's own: how it fails on the first sample, and whether it would on any."""
        self._spool = spool
        self._keys = bytearray()
        self._body_bytes = array("l")
        self._answers: list[EarlierAnswer] = []
        self._answer_of = array("l")  # by item: its number in _answers, or -1
        self._decoder = msgspec.json.Decoder(_Spooled)
        self._encoder = msgspec.json.Encoder()
        self._raised: dict[int, int] = {}  # by item: the cap with which an answer that was cut off is asked again
        self._expected: list[Sequence[float]] | None = (
            None  # by model and sample, how long it takes; None: file's order
        )
        self.answer_key: AnswerKeyWriter | None = None
        """Of the embedded platform: what is right has to be in it before it is asked."""
        self._entered: set[int] = set()  # in the answer key: blocks of samples
        self._unknown_samples = bytearray()  # by sample: 1 where the ledger does not hold its content yet
        self._changed_samples = bytearray()  # by sample: 1 where it holds another content under its key

    def __len__(self) -> int:
        return len(self._answer_of)

    @property
    def sends_tools(self) -> bool:
        """Whether some requests have tools."""
        return self.samples_bring_tools or any(model.fields.get("tools") for model in self.models)

    @property
    def samples(self) -> int:
        """How many samples the job takes."""
        return len(self._spool) // len(self.job.variants)

    @property
    def reused(self) -> int:
        """How many items have an answer already."""
        return sum(answer >= 0 for answer in self._answer_of)

    @property
    def failed_before(self) -> int:
        """How many of these failed in a way that no rerun changes."""
        return sum(not answer.accepted for _, answer in self.reuses())

    @property
    def order(self) -> str:
        """`longest first`, or `file` where nothing is known of earlier answers, or the job wants that."""
        return "file" if self._expected is None else "longest first"

    def to_send(self, model: int) -> Iterator[int]:
        """Return the items of one model that have no answer yet: the longest first, or epoch by epoch, samples in order."""
        if self._expected is None:
            return self._in_file_order(model)
        items = list(self._in_file_order(model))
        return iter(longest_first(items, [self.sample_of(item) for item in items], self._expected[model]))

    def expected_ms(self, item: int) -> float | None:
        """Return how long an item is expected to take, where earlier answers say; None where nothing is known of its sample."""
        if self._expected is None:
            return None
        found = self._expected[item // self.job.run.epochs % len(self.models)][self.sample_of(item)]
        return None if math.isnan(found) else math.exp(found)

    def _in_file_order(self, model: int) -> Iterator[int]:
        epochs, models = self.job.run.epochs, len(self.models)
        for epoch in range(epochs):
            for item in range(model * epochs + epoch, len(self), models * epochs):
                if self._answer_of[item] < 0:
                    yield item

    def reuses(self) -> Iterator[tuple[int, EarlierAnswer]]:
        """Return the items that have an answer, with where it is."""
        for item, answer in enumerate(self._answer_of):
            if answer >= 0:
                yield item, self._answers[answer]

    def sample_of(self, item: int) -> int:
        """Return the number of an item's sample."""
        return self._entry_of(item) // len(self.job.variants)

    def sample_key_of(self, item: int) -> str:
        """Return the key of an item's sample."""
        key: str = self._decoder.decode(self._spool[self._entry_of(item)]).sample_key
        return key

    def is_new_sample(self, item: int) -> bool:
        """Return whether the ledger does not hold the content of an item's sample; asked once, as it is then recorded."""
        sample = self.sample_of(item)
        is_new = bool(self._unknown_samples[sample])
        self._unknown_samples[sample] = 0
        return is_new

    def body_bytes(self, item: int) -> int:
        """Return how long an item's request is."""
        return self._body_bytes[item // self.job.run.epochs]

    def request_key_of(self, item: int) -> str:
        """Return the key of an item's request."""
        return self._keys[item * _KEY_BYTES : (item + 1) * _KEY_BYTES].hex()

    def _entry_of(self, item: int) -> int:
        """Return the number of an item's sample and variant."""
        return item // (len(self.models) * self.job.run.epochs)

    def item(self, number: int) -> PlannedItem:
        """Read one item back from disk and make its request."""
        epochs = self.job.run.epochs
        model = self.models[number // epochs % len(self.models)]
        entry = self._entry_of(number)
        if self.answer_key is not None:
            self._enter(self.answer_key, self.sample_of(number))
        spooled = self._decoder.decode(self._spool[entry])
        variant = self.job.variants[entry % len(self.job.variants)]
        content = request_body(model.id, spooled.messages, self._fields(model, variant, number), spooled.tools)
        body = self._encoder.encode(content)
        name = self.ids.name(spooled.sample_id, spooled.number)
        request = ChatRequest(
            request_key=self.request_key_of(number),
            body=body,
            model=model.id,
            sample_id=name,
            sample_key=spooled.sample_key,
            epoch=number % epochs + 1,
            occurrence=spooled.occurrences[number // epochs % len(self.models)],
            timeout_s=model.timeout_s,
            max_reply_bytes=model.max_reply_bytes,
            variant=variant.name or None,
            own_id=spooled.sample_id if name != spooled.sample_id else None,
            cluster=spooled.cluster,
            sample_no=self.sample_of(number) + 1,
            content_key=content_key(spooled.sample) if self._changed_samples[self.sample_of(number)] else None,
        )
        return PlannedItem(request, body_key(body), tools_asked(content), spooled.sample)

    def _enter(self, answer_key: AnswerKeyWriter, sample: int) -> None:
        """Enter a sample in the answer key with those around it: all at once would keep the first request waiting."""
        block = sample // TOGETHER
        if block not in self._entered:
            self._entered.add(block)
            begin, end = block * TOGETHER, min((block + 1) * TOGETHER, self.samples)
            more = range(end, end + min(MORE, self.samples - (end - begin)))
            answer_key.enter(
                [*map(self._question, range(begin, end))], [self._question(n % self.samples) for n in more]
            )

    def _question(self, sample: int) -> Question:
        variants = len(self.job.variants)
        entries = [self._decoder.decode(self._spool[sample * variants + number]) for number in range(variants)]
        return Question(self.sample(sample), [msgspec.json.decode(entry.messages) for entry in entries])

    def samples_by_key(self, most: int) -> dict[str, Sample]:
        """Return the first samples by their keys in the ledger, with all columns as the dataset has them now."""
        return dict(map(self.keyed_sample, range(min(self.samples, most))))

    def keyed_sample(self, number: int) -> tuple[str, Sample]:
        """Read one sample back from disk, with its key in the ledger and the id that it has in the dataset."""
        entry = self._decoder.decode(self._spool[number * len(self.job.variants)])
        return entry.sample_key, msgspec.json.decode(entry.sample, type=SampleContent).sample(entry.sample_id)

    def sample(self, number: int) -> Sample:
        """Read one sample back from disk, with the id that it has in the dataset."""
        return self.keyed_sample(number)[1]

    def _fields(self, model: PlannedModel, variant: Variant, number: int) -> dict[str, Any]:
        fields = model.fields | variant.fields
        most = self._raised.get(number)
        return fields if most is None else with_raised_limit(fields, most) or fields

    def expand(self) -> None:
        """Read the dataset through once: validate and hash it, render every prompt, compute every key.

        Raises:
            InputError: The dataset or a prompt has a fault.
        """
        prompts = prompts_of(self.job)
        named = frozenset[str]().union(*(prompt.named for _, prompt in prompts))
        digest = ContentHash()
        seen_bodies = dict[int, int]()
        first: tuple[Any, Any] | None = None
        first_input: Any = None
        judge_columns, scales, numbers = JudgeColumns(self.job), TargetScales(self.job), OptionNumbers(self.job)
        for row in selected_rows(self.job, self.ids):
            sample = row.sample
            digest.add(sample)
            judge_columns.take(sample)
            numbers.take(sample)
            self.are_clustered |= CLUSTER in sample.metadata
            self.mixes_messages |= sample.is_chat
            self.samples_bring_tools |= bool(sample.tools)
            for number, scorer in enumerate(self.job.scorers):
                if judges(scorer, sample):
                    scales.take(number, scorer, sample)
                elif not can_judge(scorer, sample):
                    self.unjudged[scorer.named] = self.unjudged.get(scorer.named, 0) + 1
            self.globs.take(sample.id)
            self.globs.take(row.numbered)
            messages = [prompt.messages(sample) for _, prompt in prompts]
            asked = (messages, sample.tools)
            for sent in messages:
                self.checks.take(sample, sent)
            if first is None:
                self.failing = {
                    scorer.named: why
                    for scorer in self.job.scorers
                    if isinstance(scorer, Custom) and (why := scorer.tried_on(sample))[0]
                }
                first, first_input, self.columns = asked, sample.input, frozenset(variables_of(sample))
            self.has_different_inputs |= sample.input != first_input
            self.is_constant &= asked == first
            key = sample_key(sample, named)
            for (variant, _), sent in zip(prompts, messages, strict=True):
                self._add(row, sent, variant, key, seen_bodies)
        judge_columns.check()
        scales.check()
        numbers.check()
        self._spool.seal()
        self._check_budget()
        self.dataset_hash = digest.hexdigest()
        items = len(self._spool) * len(self.models) * self.job.run.epochs
        self._answer_of = array("l", [-1]) * items
        self._unknown_samples, self._changed_samples = bytearray(b"\1") * self.samples, bytearray(self.samples)

    def _check_budget(self) -> None:
        budget, least = self.job.budget.total_tokens, self._least_tokens
        if budget is not None and least is not None and least > budget:
            raise SmallBudgetError(self.job.where("budget", "total_tokens"), budget, least)

    def _add(
        self, row: Row, messages: list[dict[str, Any]], variant: Variant, key: str, seen_bodies: dict[int, int]
    ) -> None:
        sample = row.sample
        ordered = msgspec.Raw(canonical(messages))
        occurrences = []
        for model in self.models:
            body = canonical(request_body(model.id, ordered, model.fields | variant.fields, sample.tools))
            if self.job.budget.total_tokens is not None:
                needed = reserve_of(len(body), model.max_tokens)
                self._least_tokens = needed if self._least_tokens is None else min(needed, self._least_tokens)
            self._body_bytes.append(len(body))
            folded = hash(body)
            occurrences.append(seen_bodies.get(folded, 0))
            seen_bodies[folded] = occurrences[-1] + 1
            for epoch in range(1, self.job.run.epochs + 1):
                self._keys += bytes.fromhex(request_key(self.identity, body, epoch, occurrences[-1]))
        spooled = _Spooled(
            sample.id,
            key,
            tuple(occurrences),
            msgspec.Raw(self._encoder.encode(messages)),
            sample.tools,
            self._encoder.encode(SampleContent.of(sample)).decode(),
            row.number,
            row.cluster,
        )
        self._spool.append(self._encoder.encode(spooled))

    def take_answers(self, reader: Reader, generation: str | None = None, again: ReaskPlan = ReaskPlan()) -> None:  # noqa: B008 - frozen
        """Find which items have an answer already that stands, and which samples the ledger knows.

        Args:
            generation: Only answers of this generation count; None takes the newest of any.
            again: Which of them do not count all the same.
        """
        cut_off: list[int] = []
        for start in range(0, len(self), _LOOKED_UP_AT_ONCE):
            cut_off += self._take(reader, range(start, min(start + _LOOKED_UP_AT_ONCE, len(self))), generation, again)
        for cap in again.earlier_caps:
            before = {
                item: (self.request_key_of(item), self._answer_of[item], self._raised.get(item)) for item in cut_off
            }
            still = set(self._take_raised(reader, cut_off, cap, generation, again))
            for item, earlier in before.items():
                if self._answer_of[item] < 0:
                    self._put_back(item, *earlier)
                    still.add(item)
            cut_off = list(still)
        if again.max_tokens is not None:
            cut_off = [item for item in cut_off if self._raised.get(item, 0) < again.max_tokens]
            self._take_raised(reader, cut_off, again.max_tokens, generation, again)
        self.look_up_samples(reader)

    def look_up_samples(self, reader: Reader) -> None:
        """Find which samples the ledger knows, and how long their answers took before: these decide the order of a run."""
        models = [model.id for model in self.models]
        by_length = self.job.run.order == "auto" and self.job.budget == BudgetTable()
        expected = Expected(models, self.samples) if by_length else None
        for start in range(0, self.samples, _LOOKED_UP_AT_ONCE):
            numbers: dict[str, list[int]] = {}
            contents: dict[int, str] = {}
            for number in range(start, min(start + _LOOKED_UP_AT_ONCE, self.samples)):
                entry = self._decoder.decode(self._spool[number * len(self.job.variants)])
                numbers.setdefault(entry.sample_key, []).append(number)
                contents[number] = content_key(entry.sample)
            changed: list[int] = []
            for known in reader.each(KnownSample, sample_keys=list(numbers)):
                alike = numbers[known.sample_key]
                # rows that are one sample have what the first of them said, as in the run before
                if known.digest in [contents[number] for number in alike]:
                    for number in alike:
                        self._unknown_samples[number] = 0
                else:
                    changed += alike
            by_content = {contents[number]: number for number in changed}
            held = {row.sample_key for row in reader.each(KnownSample, sample_keys=list(by_content))} if changed else ()
            for number in changed:
                self._changed_samples[number], self._unknown_samples[number] = 1, contents[number] not in held
            if expected is not None:
                for row in reader.all(EarlierLatency, models=models, sample_keys=list(numbers)):
                    expected.take(row.model, numbers[row.sample_key], row.log_ms)
        self._expected = None if expected is None else expected.by_model()

    def _take(self, reader: Reader, items: Iterable[int], generation: str | None, again: ReaskPlan) -> list[int]:
        """Note the answers that some items have; those that were cut off are given back."""
        keys = {self.request_key_of(item): item for item in items}
        cut_off = []
        asked = {"request_keys": list(keys), "generation": generation}
        by_another = {row.request_key for row in reader.all(AnsweredByAnother, **asked)} if again.by_another else ()
        for answer in reader.each(AcceptedAnswer, **asked):
            item = keys[answer.request_key]
            if answer.ends in again.ends or answer.outcome in again.outcomes or answer.request_key in by_another:
                continue
            if again.sample_keys and self.sample_key_of(item) in again.sample_keys:
                continue
            self._answer_of[item] = len(self._answers)
            self._answers.append(EarlierAnswer(answer.run_id, answer.call_no, answer.generation, answer.accepted))
            if answer.ends == "cut_off":
                cut_off.append(item)
        return cut_off

    def _take_raised(
        self, reader: Reader, items: list[int], max_tokens: int, generation: str | None, again: ReaskPlan
    ) -> list[int]:
        """Give items another request, with a higher cap, and note the answers that these have; those that were cut off
        too are given back, and those whose cap is as high, which keep their answer.
        """
        raised = self._raise(items, max_tokens)
        cut_off = list(set(items).difference(raised))
        for start in range(0, len(raised), _LOOKED_UP_AT_ONCE):
            cut_off += self._take(reader, raised[start : start + _LOOKED_UP_AT_ONCE], generation, again)
        return cut_off

    def _put_back(self, item: int, key: str, answer: int, raised: int | None) -> None:
        """Give an item a request that it had before."""
        self._keys[item * _KEY_BYTES : (item + 1) * _KEY_BYTES] = bytes.fromhex(key)
        self._answer_of[item] = answer
        del self._raised[item]
        if raised is not None:
            self._raised[item] = raised

    def _raise(self, items: list[int], max_tokens: int) -> list[int]:
        """Give items another request, with a higher cap, and return which; one whose cap is as high keeps its answer."""
        raised = []
        epochs, variants = self.job.run.epochs, self.job.variants
        for item in items:
            model, entry = self.models[item // epochs % len(self.models)], self._entry_of(item)
            fields = with_raised_limit(model.fields | variants[entry % len(variants)].fields, max_tokens)
            if fields is None:
                continue
            spooled = self._decoder.decode(self._spool[entry])
            messages = msgspec.Raw(canonical(msgspec.json.decode(spooled.messages)))
            body = canonical(request_body(model.id, messages, fields, spooled.tools))
            occurrence = spooled.occurrences[item // epochs % len(self.models)]
            key = bytes.fromhex(request_key(self.identity, body, item % epochs + 1, occurrence))
            self._keys[item * _KEY_BYTES : (item + 1) * _KEY_BYTES] = key
            self._raised[item] = max_tokens
            self._answer_of[item] = -1
            raised.append(item)
        return raised
