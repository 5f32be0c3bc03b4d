"""The account's page: Settings, Account, API keys, as the document describes it, with usage and models beside.

It is off unless somebody was invited. Who opens the link of an invitation is signed in for four weeks by a cookie that no
script can read; there are no passwords. Only hashes of links and sessions are kept.
"""

import asyncio
import contextlib
import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import cache
from importlib import resources
from typing import Any, TypeVar
from urllib.parse import parse_qs

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined

from workbench.local_platform.access import ACCESS
from workbench.local_platform.calls import Catalogue, RefusedError
from workbench.local_platform.config import PlatformConfig, Preset, Route
from workbench.local_platform.delivery import body_of
from workbench.local_platform.shared import Shared
from workbench.local_platform.state import MOST_NAME_CHARS, State, StateError, UnknownKeyError, is_a_name
from workbench.local_platform.usage import OwnUsage, own_usage

T = TypeVar("T")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
SESSION_S = 4 * 7 * 86_400.0
"""Of a browser: four weeks (Authentication, Browser sessions)."""
INVITATION_S = 7 * 86_400.0
_FORM_S = 86_400.0
_MOST_DAYS = 366
_COOKIE = "workbench_session"
_MOST_FORM_BYTES = 64 * 1024
_WRITE_PATIENCE_S = 15.0
_MOST_TRIES, _PER_S, _MOST_ADDRESSES = 10, 60.0, 1_000
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_GONE = "This link was used already, or has expired. The operator can make another one."
_SENT = "This form was sent already, and what it asked for is done."
_SIGNED_OUT = "You are not signed in. Open the link that the operator has given to you."


class _Refused(Exception):
    """A page that says why something was not done."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text


class Tries:
    """Counts attempts to sign in by address, so that many links cannot be tried.

    Args:
        clock: Tells seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._made: OrderedDict[str, list[float]] = OrderedDict()

    def allows(self, address: str) -> bool:
        """Return whether one more is allowed, and count it."""
        now = self._clock()
        made = [at for at in self._made.pop(address, []) if now - at < _PER_S]
        is_allowed = len(made) < _MOST_TRIES
        self._made[address] = [*made, now] if is_allowed else made
        if len(self._made) > _MOST_ADDRESSES:
            self._made.popitem(last=False)
        return is_allowed


class Pane:
    """Serves the page.

    Args:
        otherwise: Answers until somebody was invited, as the platform answers any path outside its API.
    """

    def __init__(
        self, shared: Shared, config: Callable[[], PlatformConfig], otherwise: Callable[[str], web.Response]
    ) -> None:
        self._shared, self._config, self._otherwise = shared, config, otherwise
        self._tries = Tries()
        self._was_on = False

    def add_to(self, app: web.Application) -> None:
        """Add its paths to an application."""
        app.router.add_get("/", self._on(self._home))
        app.router.add_get("/account", self._on(self._account))
        app.router.add_post("/account", self._on(self._change))
        app.router.add_get("/sign-in", self._on(self._invitation))
        app.router.add_post("/sign-in", self._on(self._sign_in))
        app.router.add_post("/sign-out", self._on(self._sign_out))
        app.router.add_get("/account/page.css", self._on(self._style))
        app.router.add_get("/account/copy.js", self._on(self._script))

    def _on(self, answer: Callable[[web.Request], Awaitable[web.Response]]) -> Handler:
        """Return a handler that is off unless somebody was invited, and tells refusals as pages."""

        async def handle(request: web.Request) -> web.StreamResponse:
            if not self._is_on():
                return self._otherwise(request.method)
            try:
                reply = await answer(request)
            except _Refused as refused:
                reply = _page("refused", refused.status, sentences=refused.text.split(". ", 1))
            except StateError:
                reply = _page(
                    "refused", 503, sentences=["The platform cannot read or write its state: try again later."]
                )
            reply.headers.update(_HEADERS)
            return reply

        return handle

    def _is_on(self) -> bool:
        self._was_on = self._was_on or (self._shared.state.path is not None and self._shared.state.has_invited())
        return self._was_on

    async def _home(self, _: web.Request) -> web.Response:
        return _to_account()

    async def _style(self, _: web.Request) -> web.Response:
        return web.Response(text=_style_sheet(), content_type="text/css")

    async def _script(self, _: web.Request) -> web.Response:
        return web.Response(text=_template_text("copy.js"), content_type="text/javascript")

    async def _invitation(self, request: web.Request) -> web.Response:
        """Show whose link it is: to be used up by a click, and not by a program that looks where links lead."""
        secret = request.query.get("link", "")
        account = self._known(self._shared.state.account_of_link(secret, "invitation"))
        if account is None:
            raise self._failed_try(request)
        return _page("sign_in", account=account, link=secret)

    async def _sign_in(self, request: web.Request) -> web.Response:
        _refuse_foreign(request)
        given = await self._form(request)

        def sign_in(state: State) -> str | None:
            account = self._known(state.use_link(given.get("link", ""), "invitation"))
            return None if account is None else state.make_link(account, "session", SESSION_S)

        session = await self._written(sign_in)
        if session is None:
            raise self._failed_try(request)
        reply = _to_account()
        reply.set_cookie(
            _COOKIE,
            session,
            max_age=int(SESSION_S),
            path="/",
            httponly=True,
            samesite="Strict",
            secure=_is_secure(request),
        )
        return reply

    async def _sign_out(self, request: web.Request) -> web.Response:
        session, _ = self._signed_in(request)
        _checked(await self._form(request), session, request)
        await self._written(lambda state: state.use_link(session, "session"))
        reply = _to_account()
        reply.del_cookie(_COOKIE, path="/")
        return reply

    async def _account(self, request: web.Request) -> web.Response:
        session, account = self._signed_in(request)
        return await self._shown(session, account)

    async def _change(self, request: web.Request) -> web.Response:
        """Create, regenerate or delete a key; a form that is sent twice changes nothing the second time."""
        session, account = self._signed_in(request)
        given = _checked(await self._form(request), session, request)
        action, key_id, name = given.get("action"), given.get("key", ""), given.get("name", "").strip()
        if action == "create" and not (name and is_a_name(name)):
            raise _Refused(400, f"A name has 1 to {MOST_NAME_CHARS} characters, without control characters.")

        def change(state: State) -> str | None:
            if not state.take_form(given.get("form", ""), account, _FORM_S):
                raise _Refused(409, _SENT)
            match action:
                case "create":
                    return state.create_key(account, name)
                case "regenerate":
                    return state.regenerate_key(key_id, account)
                case "delete":
                    state.revoke_key(key_id, account)
                    return None
                case _:
                    raise _Refused(400, "There is no such action.")

        try:
            key = await self._written(change)
        except UnknownKeyError as error:
            raise _Refused(409, "You have no such key: it was regenerated or deleted a moment ago.") from error
        return await self._shown(session, account, key) if key is not None else _to_account()

    async def _shown(self, session: str, account: str, key: str | None = None) -> web.Response:
        config = self._config()
        found = await own_usage(account, config, self._shared.state, self._shared.accounts, self._shared.turns)
        return _page(
            "account",
            found=found,
            csrf=_csrf(session),
            form_id=secrets.token_urlsafe(16),
            key=key,
            models=_models(config, account),
            days=(days := _days(found)),
            most=max(units for _, units, _ in days),
            counts_otherwise=any(row.units != row.total_tokens for row in found.days),
        )

    async def _form(self, request: web.Request) -> dict[str, str]:
        """Return the fields of a form, each once."""
        if request.content_type != "application/x-www-form-urlencoded":
            raise _Refused(415, "This is not a form.")
        try:
            body = await body_of(request, _MOST_FORM_BYTES, self._config().limits.request_s)
        except RefusedError as error:
            if error.status == 413:
                raise _Refused(413, "This form is too large.") from error
            raise _Refused(error.status, f"This form did not come whole: {error.detail}.") from error
        with contextlib.suppress(ValueError):
            found = parse_qs(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20)
            return {name: values[0] for name, values in found.items()}
        raise _Refused(400, "This form cannot be read.")

    def _signed_in(self, request: web.Request) -> tuple[str, str]:
        """Return a request's session, and whose it is."""
        session = request.cookies.get(_COOKIE, "")
        account = self._shared.state.account_of_link(session, "session") if session else None
        if account is None:
            raise _Refused(401, _SIGNED_OUT)
        if self._known(account) is None:
            raise _Refused(403, "This account was removed by the operator.")
        request[ACCESS].account = account
        return session, account

    def _known(self, account: str | None) -> str | None:
        return account if account in {one.name for one in self._config().accounts} else None

    def _failed_try(self, request: web.Request) -> _Refused:
        """Count a link that was none: a valid one always signs in, also where all come through one proxy."""
        if self._tries.allows(request.remote or ""):
            return _Refused(410, _GONE)
        return _Refused(429, "Too many attempts to sign in: try again in a minute.")

    async def _written(self, change: Callable[[State], T]) -> T:
        """Write to the state through a connection of its own: what calls draw is not to wait, nor to be committed with it."""

        def write() -> T:
            state = State(self._shared.state.path, busy_s=_WRITE_PATIENCE_S, clock=self._shared.clock)
            try:
                return state.together(lambda: change(state))
            finally:
                state.close()

        return await asyncio.to_thread(write)


def _models(config: PlatformConfig, account: str) -> list[dict[str, Any]]:
    """Return what an account sees, as the page lists it; a fallback that it may not see has no name."""
    catalogue = Catalogue(config)
    routes, presets = catalogue.visible(account)
    models: list[Route | Preset] = [*routes, *presets]
    found = []
    for model in models:
        route = catalogue.route_of(model)
        kind = "simulated" if route.simulated else "model server"
        fallback = catalogue.fallback_of(route)
        found.append(
            {
                "id": model.id, "kind": kind if isinstance(model, Route) else f"preset of {model.base}",
                "fallback": fallback.id if fallback in routes else None,
                "tools": ("yes" if route.calls_tools else "no") if route.simulated else "not known",
                "limit_s": route.limit_s or config.limits.time_limit_s,
            }
        )  # fmt: skip
    return found


def _days(found: OwnUsage) -> list[tuple[str, float, float]]:
    """Return (day, units, share of the largest day) of the window so far, the oldest first."""
    first, last = found.since.date(), found.as_of.date()
    units = {f"{first + timedelta(days=number)}": 0.0 for number in range(min((last - first).days + 1, _MOST_DAYS))}
    for row in found.days:
        units[row.day] = units.get(row.day, 0.0) + row.units
    most = max(units.values())
    return [(day, amount, amount / most if most else 0.0) for day, amount in sorted(units.items())]


def _csrf(session: str) -> str:
    """Return what a form of a session carries; a page elsewhere cannot know it."""
    return hashlib.sha256(b"form of " + session.encode("utf-8", "surrogateescape")).hexdigest()


def _checked(given: dict[str, str], session: str, request: web.Request) -> dict[str, str]:
    """Return a form that came from a page of this session."""
    _refuse_foreign(request)
    if not hmac.compare_digest(given.get("csrf", "").encode(), _csrf(session).encode()):
        raise _Refused(403, "This form is not of your session: open the page again.")
    return given


def _refuse_foreign(request: web.Request) -> None:
    """Refuse what a browser says that another site has sent."""
    if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
        raise _Refused(403, "This form came from another site.")


def _is_secure(request: web.Request) -> bool:
    return request.secure or request.headers.get("X-Forwarded-Proto", "").lower() == "https"


def _to_account() -> web.Response:
    return web.Response(status=303, headers={"Location": "/account"})


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("workbench.local_platform"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    found.globals |= {"units": _units, "moment": lambda at: f"{at:%Y-%m-%d %H:%M}", "most_name_chars": MOST_NAME_CHARS}
    return found


def _units(amount: float) -> str:
    return f"{round(amount):,}".replace(",", "\u202f")


def _page(name: str, status: int = 200, **content: Any) -> web.Response:
    text = _environment().get_template(f"{name}.html").render(**content)
    return web.Response(text=text, status=status, content_type="text/html")


@cache
def _style_sheet() -> str:
    """Return the stylesheet of the report pages, and what is ours alone."""
    common = resources.files("workbench.display").joinpath("page.css").read_text("utf-8")
    return common + _template_text("account.css")


@cache
def _template_text(name: str) -> str:
    return resources.files("workbench.local_platform").joinpath("templates", name).read_text("utf-8")
