"""Pages as files: templates filled, their scripts beside them, whole or not at all."""

import base64
import contextlib
import gzip
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from jinja2 import Environment, FileSystemBytecodeCache, FunctionLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

import workbench.display.commands as commands
import workbench.display.text as people
import workbench.settings.clock as clock
from workbench.allowance.caps import CapUse, caps_used
from workbench.evaluation.alarms import JobWatches, Watch
from workbench.evaluation.job_changes import JobChange, job_changes
from workbench.evaluation.ongoing import Ongoing, as_now, reading_with_ongoing
from workbench.evaluation.ranking import Ranking, standing
from workbench.ledger.job_rows import ModelOrder, RunLine
from workbench.ledger.queries import Reader
from workbench.ledger.rows import Provenance, QueryRow
from workbench.ledger.score_rows import RunScorer
from workbench.ledger.store import Ledger
from workbench.ledger.usage_rows import LedgerPeriod
from workbench.report import tables
from workbench.report.bundle import page_script, put_whole, vega_bundle
from workbench.report.drawing import Colours
from workbench.scratch import make_private
from workbench.settings.environment import cache_folder
from workbench.settings.file import AllowanceSettings
from workbench.wording.changes import alarm_lasts, alarm_text, alarm_what, change_text
from workbench.wording.gates import recorded_text
from workbench.wording.routes import late_text

T = TypeVar("T", bound=QueryRow)
_TEMPLATES = resources.files(__package__).joinpath("templates")
_SHOWN_CHARS = 2_000
_RUN = r"\d{8}T\d{6}-[0-9a-f]{6}"
_WRITTEN = re.compile(
    rf"(index|allowance|routes|job-.*-[0-9a-f]{{8}}|{_RUN}.*)\.html|{_RUN}\.samples|(workbench|vega)-[0-9a-f.]+\.js"
)
"""What is written into a folder of pages; it may be one that has other files too."""


class AsOf(NamedTuple):
    """The state of a ledger that a page shows."""

    at: datetime
    ongoing: list[Ongoing]
    """Runs of which more is to come."""


class PageHead(msgspec.Struct, frozen=True):
    """The header of every page."""

    page: str
    """`run`, `job`, `compare`, `index`, `allowance` or `routes`."""
    title: str
    endpoint: str
    key_fingerprint: str
    simulated: bool
    first_at: datetime | None
    last_at: datetime | None
    """The newest event in the ledger, or of the run."""
    as_of: AsOf


def _ledger_head(page: str, title: str, period: LedgerPeriod, as_of: AsOf) -> PageHead:
    """Return the head of a page over a whole ledger, from what it covers."""
    others = max(period.endpoints, 1) - 1
    endpoint = (period.endpoint or "no endpoint yet") + (f" and {others} more" if others else "")
    more_keys = max(period.keys, 1) - 1
    key = (period.key_fingerprint or "not available") + (f" and {more_keys} more" if more_keys else "")
    return PageHead(page, title, endpoint, key, period.simulated, period.first_at, period.last_at, as_of)


class SingleFile(msgspec.Struct, frozen=True):
    """A page as one file to send."""

    note: str = ""
    """A sentence of whoever sends it, at its top."""
    has_texts: bool = True
    """Whether it has prompts and answers."""


@dataclass(frozen=True)
class PageContext:
    """What pages are built from: one state of a ledger."""

    reader: Reader
    ledger: str
    folder: Path
    """Where the pages go, and those of runs are: only what is there is linked."""
    period: LedgerPeriod
    colours: Colours
    zone: str
    """Whose days these are."""
    allowance: AllowanceSettings
    caps: Callable[[], list[CapUse]]
    """How much of each cap is used; one more query for each."""
    as_of: AsOf
    watches: JobWatches
    """What jobs show over their occasions, as far as a page asked: several do."""
    rankings: dict[str, Ranking]
    """How the models of runs stand whose pages were asked for before."""
    lines: dict[str, RunLine]
    """How runs ended that a page asked for before."""
    over_all: frozenset[str]
    """Names of the pages over the whole ledger that are written with these."""
    single: SingleFile | None
    """How a page is written as one file to send; None: as one of several in a folder."""

    @property
    def is_single(self) -> bool:
        """Whether a page is one file to send: with its scripts and all texts inside, and without links to others."""
        return self.single is not None

    @property
    def has_texts(self) -> bool:
        """Whether a page may show prompts and answers."""
        return self.single is None or self.single.has_texts

    def there(self) -> frozenset[str]:
        """Return the names of the pages that are there now, to be linked."""
        return frozenset() if self.is_single else frozenset(path.stem for path in self.folder.glob("*.html"))

    def linked(self, pages: Sequence["Page"]) -> list["Page"]:
        """Return those that are there, or will be."""
        if self.is_single:
            return []
        return [page for page in pages if page.name in self.over_all or (self.folder / f"{page.name}.html").exists()]

    def left_as_they_are(self, pages: Sequence["Page"]) -> list[tuple[str, datetime | None]]:
        """Return the title of each that is not written now, and when it was; None: never."""
        paths = {page.title: self.folder / f"{page.name}.html" for page in pages if page.name not in self.over_all}
        return [
            (title, datetime.fromtimestamp(path.stat().st_mtime, UTC) if path.exists() else None)
            for title, path in paths.items()
        ]

    def watched(self, job: str | None = None) -> list[Watch]:
        """Return what a job that watches for changes shows, or all of them; worked out once."""
        return self.watches.watched(self.reader, job)

    def unwatched(self, job: str | None = None) -> list[Watch]:
        """Return what a job that watches for no change shows all the same, or all of them; worked out once."""
        return self.watches.unwatched(self.reader, job)

    def ranking(self, run_id: str) -> Ranking:
        """Return how the models of a run stand; worked out once."""
        if run_id not in self.rankings:
            reader = self.reader.about(run_id)
            scorers = reader.all(RunScorer, run_ids=[run_id])
            self.rankings[run_id] = standing(reader, reader.only(Provenance, run_id=run_id), scorers)
        return self.rankings[run_id]

    def run_lines(self, run_ids: Sequence[str]) -> dict[str, RunLine]:
        """Return how runs ended and what they used, by run; what the page before asked for is not asked again."""
        left = [run_id for run_id in run_ids if run_id not in self.lines]
        if left:
            found = as_now(self.reader.all(RunLine, most=len(left), run_ids=left), self.as_of.ongoing)
            self.lines.update({run.run_id: run for run in found})
        return {run_id: self.lines[run_id] for run_id in run_ids}

    @cached_property
    def changes(self) -> dict[str, list[JobChange]]:
        """What the newest run of each job shows against the one before: the page of all runs and that of a job ask."""
        return job_changes(self.reader)

    def command(self, *words: str) -> str:
        """Return a command about this ledger, as a page prints it."""
        return commands.on_ledger(self.ledger, *words)


@contextmanager
def asked_of(
    ledger: Ledger,
    folder: Path,
    watches: JobWatches | None = None,
    over_all: Sequence["Page"] = (),
    *,
    single: SingleFile | None = None,
) -> Iterator[PageContext]:
    """Read a ledger for pages that go into a folder.

    Args:
        folder: Where the pages go.
        watches: Of the pages that were made just before, to be worked out no second time.
        over_all: The pages over the whole ledger that are written with these.
        single: How a page is written as one file to send.

    Raises:
        UnreachableError: The server of a team's ledger does not answer.
    """
    with reading_with_ongoing(ledger) as read:
        yield page_context(ledger, folder, read, watches, over_all, single)


def page_context(
    ledger: Ledger,
    folder: Path,
    read: tuple[Reader, list[Ongoing]],
    watches: JobWatches | None = None,
    over_all: Sequence["Page"] = (),
    single: SingleFile | None = None,
) -> PageContext:
    """Return what pages are built from, of a ledger that is read already; see `asked_of`.

    Args:
        read: As `reading_with_ongoing` yields it.
    """
    reader, going_on = read[0].at_once(), read[1]
    return PageContext(
        reader,
        ledger.name if single is None else ledger.path.name,  # whoever is sent a file need not know where ours lie
        folder,
        reader.only(LedgerPeriod),
        colours_of(reader),
        ledger.zone,
        ledger.allowance,
        partial(caps_used, reader, ledger),
        AsOf(clock.now(), going_on),
        watches or JobWatches(),
        {},
        {},
        frozenset(page.name for page in over_all),
        single,
    )


class Page(NamedTuple):
    """A page over a whole ledger."""

    name: str
    """Of its file and its template."""
    title: str
    build: Callable[[PageContext], Callable[[], dict[str, Any]]]
    """Asks what the page shows; returns what computes the content of its template, once the ledger is let go."""


Draft = Callable[[], Path]
"""Renders a page of which everything was asked, puts it into its folder, and returns its absolute path."""


def ledger_page(asked: PageContext, page: Page, pages: Sequence[Page]) -> Draft:
    """Ask what a page over a whole ledger shows.

    Args:
        pages: Those that its head links.
    """
    content, head = page.build(asked), _ledger_head(page.name, page.title, asked.period, asked.as_of)

    def write() -> Path:
        shown = content() | {"left_as_they_are": asked.left_as_they_are(pages)}
        return write_html(asked, f"{page.name}.html", head, pages, shown)

    return write


def result(reader: Reader, kind: type[T], **parameters: Any) -> tables.Result[T]:
    """Ask a query and keep its name and parameters beside its rows."""
    return tables.Result(kind.query, parameters, reader.all(kind, **parameters))


def colours_of(reader: Reader) -> Colours:
    """Return the colours of a ledger's models, the same on every page."""
    return Colours([one.model for one in reader.all(ModelOrder)])


def write_html(asked: PageContext, name: str, head: PageHead, pages: Sequence[Page], content: dict[str, Any]) -> Path:
    """Render a page from the template of its kind, and put it into its folder; its scripts too, where they are missing.

    Args:
        name: Of the file.
        head: Whose page, and of what.
        pages: Those that its head links.
        content: What the template names.

    Returns:
        Its absolute path.
    """
    scripts = [vega_bundle(), page_script()] if content["charts"] else [page_script()]
    for script in [] if asked.is_single else scripts:
        beside = asked.folder / script.name
        if not beside.is_file() or beside.read_bytes() != script.text.encode():
            write_page(asked.folder, script.name, script.text)
        else:
            _take_rights(beside, asked.folder.stat().st_mode & 0o644 | 0o600)
    template = _environment().get_template(f"{head.page}.html")
    text = template.render(
        head=head,
        css=Markup(resources.files("workbench.display").joinpath("page.css").read_text("utf-8")),
        scripts=scripts,
        nonce=secrets.token_urlsafe(16),  # no text in the page can know it: only our own scripts run
        pages=asked.linked(pages),
        single=asked.single,
        zone=asked.zone,
        **{"there": asked.there()} | content,
    )
    return write_page(asked.folder, name, text)


class _CompiledTemplates(FileSystemBytecodeCache):
    """The templates as compiled before, in the user's cache folder: to compile them takes most of a small run's pages' time."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load a template as it was compiled, if it was, and from the same text."""
        with contextlib.suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a compiled template where that can be done; a cache that cannot be written is not an error."""
        with contextlib.suppress(OSError):
            make_private(Path(self.directory))
            super().dump_bytecode(bucket)


@cache  # the pages of a run share their base
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_source),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        # kept templates are known by their texts alone: with another option than these, the folder needs another name
        bytecode_cache=_CompiledTemplates(str(cache_folder() / "templates"), f"{version('jinja2')}-%s"),
    )
    environment.globals.update(
        people=people,
        figure=tables.figure,
        heading=tables.heading,
        job_link=tables.job_link,
        moment=tables.moment,
        outcome=tables.outcome,
        status=tables.status,
        card_id=tables.card_id,
        alarm_text=alarm_text,
        alarm_what=alarm_what,
        alarm_lasts=alarm_lasts,
        change_text=change_text,
        late_text=late_text,
        recorded_text=recorded_text,
        commands=commands,
    )
    environment.filters.update(visible=people.visible, clip=lambda text: people.clipped(text, _SHOWN_CHARS))
    return environment


def write_page(folder: Path, name: str, text: str) -> Path:
    """Put a page or a file beside it into a folder, whole or not at all; it has prompts and answers, and the folder's rights.

    Returns:
        Its absolute path.
    """
    path = (folder / name).absolute()
    make_private(path.parent)
    # whoever opened the folder for others wants its pages to be read
    put_whole(path, text, mode=path.parent.stat().st_mode & 0o644 | 0o600)
    return path


def take_rights_of(folder: Path) -> None:
    """Give the pages in a folder, their scripts and the texts beside them its rights, which may have changed since."""
    mode = folder.stat().st_mode
    file_mode, folder_mode = mode & 0o644 | 0o600, mode & 0o755 | 0o700
    for path in folder.iterdir():
        if _WRITTEN.fullmatch(path.name) and not path.is_symlink():
            _take_rights(path, folder_mode if path.is_dir() else file_mode)
            for part in path.glob("*.js") if path.is_dir() else ():
                _take_rights(part, file_mode)


def _take_rights(path: Path, mode: int) -> None:
    with contextlib.suppress(OSError):  # another user's, who alone may change it, or removed meanwhile
        if path.stat().st_mode & 0o777 != mode:
            path.chmod(mode)


def packed_json(value: Any) -> str:
    """Return a value as the page's script unpacks it: base64 of gzip, the same for the same value."""
    return base64.b64encode(gzip.compress(msgspec.json.encode(value, enc_hook=str), 6, mtime=0)).decode("ascii")


def _source(name: str) -> str:
    return _TEMPLATES.joinpath(name).read_text("utf-8")
