"use strict";
// What every page needs: its state in the address, packed texts, times in the account's zone.
const workbench = (() => {
  const state = () => new URLSearchParams(location.hash.slice(1));

  // Keep some values in the address, so that it can be sent to a colleague; an empty one is left out.
  function keep(changes) {
    const next = state();
    for (const [name, value] of Object.entries(changes)) value ? next.set(name, value) : next.delete(name);
    const text = next.toString();
    history.replaceState(null, "", text ? `#${text}` : location.href.split("#")[0]);
  }

  // Decode base64 of gzip to text.
  function unpack(packed) {
    const binary = atob(packed.trim());
    const bytes = new Uint8Array(binary.length);
    for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }

  // An element with attributes and content; content is always text or other elements, never markup.
  function make(tag, attributes = {}, ...content) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value != null) element.setAttribute(name, value);
    }
    element.append(...content.filter((part) => part != null && part !== ""));
    return element;
  }

  // A text under a title, clamped when it is long, and opened in place. Its parts, if given, are what it consists of.
  function block(title, text, parts = [text]) {
    const CLAMP = 1200;
    if (text == null || text === "") return null;
    const pre = make("pre", { dir: "auto" }, ...parts);
    const part = make("div", {}, title ? make("h3", {}, title) : null, pre);
    if (text.length > CLAMP) {
      pre.classList.add("clamped");
      const open = () => { pre.classList.remove("clamped"); more.remove(); };
      const more = make("button", { type: "button", onclick: open }, `Show all ${count(text.length)} characters`);
      part.append(more);
    }
    return part;
  }

  const count = (number) => (number == null ? "not available" : number.toLocaleString("en").replaceAll(",", "\u202f"));

  for (const figure of document.querySelectorAll("data")) {
    if (figure.value !== figure.textContent) figure.title = figure.value || "not available";
  }

  const zone = document.body.dataset.zone;
  const clock = byClock(zone);
  for (const time of clock ? document.querySelectorAll("time[data-zoned]") : []) {
    time.textContent = clock.format(new Date(time.dateTime));
  }
  if (clock) document.getElementById("zone").textContent = `times in ${zone}${zone === "UTC" ? "" : ", UTC on hover"}`;

  // A browser may be older than the zone's name: the times are in UTC then, as they are without scripts.
  function byClock(timeZone) {
    try {
      return new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
    } catch {
      return null;
    }
  }

  // What stands over a box: the title of its chart, of what it is folded in, or the last heading before it.
  function titleOf(box) {
    const own = box.closest("figure")?.querySelector(".title") ?? box.closest("details")?.querySelector("summary");
    const before = [...document.querySelectorAll("h1, h2, h3")].filter((heading) => heading.compareDocumentPosition(box) & Node.DOCUMENT_POSITION_FOLLOWING);
    const card = box.closest(".card")?.querySelector("summary");  // charts of several routes have the same titles
    const names = [card !== own && card, own ?? before.at(-1)].filter(Boolean);
    return names.map((one) => one.textContent.trim()).join(": ") || document.title;
  }

  // A table that fits its box needs no box that scrolls, in which its head could not stay in sight. One that scrolls must be
  // reached with the keyboard, and say there what it is; a box that always can has it in the markup.
  const named = new Set(document.querySelectorAll(".wide[role]"));
  function fit(box) {
    const fits = box.firstElementChild.scrollWidth <= box.clientWidth;
    box.classList.toggle("fits", fits);
    if (named.has(box)) return;
    for (const [name, value] of Object.entries({ role: "region", tabindex: "0", "aria-label": titleOf(box) })) {
      fits ? box.removeAttribute(name) : box.setAttribute(name, value);
    }
  }
  const sized = new ResizeObserver((entries) => {
    for (const box of new Set(entries.map(({ target }) => target.closest(".wide")).filter(Boolean))) fit(box);
  });
  for (const box of document.querySelectorAll(".wide")) {
    sized.observe(box);
    sized.observe(box.firstElementChild);
  }

  // Paper opens nothing: a route's card is printed whole, and closed again for its reader.
  const opened = [];
  addEventListener("beforeprint", () => {
    opened.push(...document.querySelectorAll("details.card:not([open])"));
    for (const card of opened) card.open = true;
  });
  addEventListener("afterprint", () => {
    for (const card of opened.splice(0)) card.open = false;
  });

  return { state, keep, unpack, make, block, count };
})();

"use strict";
// Tables sort by their headings; long ones have a filter and pages. The URL keeps the state; print has every row.
(() => {
  const FILTER_FROM = 12, PAGE = 25;

  // What a cell sorts by: the exact number, the moment, or its text; unknown values stay last either way.
  function value(cell) {
    const exact = cell.querySelector("data");
    if (exact) return exact.value === "" ? null : Number(exact.value);
    const time = cell.querySelector("time");
    return time ? time.dateTime : cell.textContent.trim().toLowerCase();
  }

  function compare(a, b) {
    if (a === null || b === null) return (a === null) - (b === null);
    return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  }

  // What a filter looks for, and in what: figures are found with their thin spaces and without.
  const plain = (text) => text.toLowerCase().replace(/\s/g, "");
  const searchable = (cell) => [cell.textContent, ...[...cell.querySelectorAll("data")].map((exact) => exact.value)].map(plain);

  function enliven(table) {
    const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells], all = [...body.rows];
    const names = heads.map((head) => head.textContent.trim()), prefix = `t.${table.id}`;
    const texts = new Map(all.map((row) => [row, [...row.cells].flatMap(searchable)])), sortable = (head) => !("unsorted" in head.dataset);
    const tools = workbench.make("div", { class: "tools" });
    const told = workbench.make("span", { role: "status" });
    const filter = workbench.make("input", { type: "search", placeholder: "filter rows", "aria-label": "filter rows" });
    const by = Number(table.dataset.chosenBy ?? -1), marked = (row) => row.cells[by].querySelector("span")?.textContent ?? "";
    let column, descending, text, page, mark;

    // Read the state from the URL; a column that does not exist or sort is ignored.
    function recall() {
      const kept = workbench.state(), [name = "", way = ""] = (kept.get(`${prefix}.sort`) || "").split(/:(?=asc$|desc$)/);
      column = heads.findIndex((head, at) => names[at] === name && sortable(head));
      descending = way === "desc";
      text = filter.value = kept.get(`${prefix}.q`) || "";
      page = Number(kept.get(`${prefix}.page`)) || 1;
      mark = kept.get(`${prefix}.mark`) || "";
    }

    function rows() {
      const sought = plain(text), found = all.filter((row) => (!mark || marked(row) === mark) && texts.get(row).some((said) => said.includes(sought)));
      if (column < 0) return found;
      const keyed = found.map((row) => [value(row.cells[column]), row]);
      keyed.sort(([a], [b]) => (a === null || b === null ? compare(a, b) : (descending ? -1 : 1) * compare(a, b)));
      return keyed.map(([, row]) => row);
    }

    function show() {
      const found = rows(), pages = Math.max(1, Math.ceil(found.length / PAGE));
      heads.forEach((head, at) => {
        if (at === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      page = Math.min(Math.max(1, page), pages);
      body.replaceChildren(...found.slice((page - 1) * PAGE, page * PAGE));
      told.textContent = `${workbench.count(found.length)} ${found.length === 1 ? "row" : "rows"}${pages > 1 ? `, page ${page} of ${pages}` : ""}`;
      for (const button of tools.querySelectorAll("button[data-mark]")) button.setAttribute("aria-pressed", String(button.dataset.mark === mark));
      for (const button of tools.querySelectorAll("button[value]")) {
        const next = page + Number(button.value);
        button.disabled = next < 1 || next > pages;
      }
    }

    function change() {
      show();
      const sort = column < 0 ? "" : `${names[column]}:${descending ? "desc" : "asc"}`;
      workbench.keep({ [`${prefix}.sort`]: sort, [`${prefix}.q`]: text, [`${prefix}.mark`]: mark, [`${prefix}.page`]: page > 1 ? String(page) : "" });
    }

    const buttons = new Map();
    heads.forEach((head, at) => {
      if (!sortable(head)) return;
      const first = head.classList.contains("n");
      const sort = () => {
        if (column !== at) [column, descending] = [at, first];
        else if (descending === first) descending = !first;
        else column = -1;
        page = 1;
        change();
      };
      buttons.set(head, workbench.make("button", { type: "button", onclick: sort }, names[at]));
      head.replaceChildren(buttons.get(head));
    });
    filter.addEventListener("input", () => { text = filter.value; page = 1; change(); });
    const turn = (by, name) => workbench.make("button", { type: "button", value: by, onclick: () => { page += by; change(); } }, name);
    const marks = by < 0 ? [] : [...new Set(all.map(marked))];
    const choose = (name) => {
      const button = workbench.make("button", { type: "button", onclick: () => { mark = name; page = 1; change(); } }, name || "all");
      button.dataset.mark = name;
      return button;
    };
    if (all.length > FILTER_FROM) tools.append(filter);
    if (marks.length > 1) tools.append(...["", ...marks].map(choose));
    if (all.length > FILTER_FROM || marks.length > 1) tools.append(told);
    if (all.length > PAGE) tools.append(turn(-1, "Previous"), turn(1, "Next"));
    if (tools.children.length) table.parentElement.before(tools);
    const again = () => { recall(); show(); };
    again();
    addEventListener("hashchange", again);
    addEventListener("beforeprint", () => {
      body.replaceChildren(...rows());
      for (const [head, button] of buttons) head.replaceChildren(button.textContent); // a button is not repeated on the next sheet
    });
    addEventListener("afterprint", () => {
      for (const [head, button] of buttons) head.replaceChildren(button);
      show();
    });
  }

  for (const table of document.querySelectorAll("table[data-query]")) {
    if (table.tBodies[0].rows.length > 1) enliven(table);
  }
})();

"use strict";
// Draws each chart from its specification: those in sight first, the rest while nothing else is to do.
// A chart's table stands in its place until it can be drawn.
(() => {
  const NARROW = 560, WIDEST = 880, BESIDE = 110, CLOSED = 440;
  const UNLIMITED = 0;  // labels are cut before, and a legend of more than 30 models would lose the others
  const QUIET = { labelColor: "var(--ink)", titleColor: "var(--soft)", labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" };
  const CONFIG = {
    background: "transparent",
    font: "system-ui, sans-serif",
    view: { stroke: null },
    axis: {
      ...QUIET, labelColor: "var(--soft)", gridColor: "var(--line)", domainColor: "var(--line)", tickColor: "var(--line)",
      labelLimit: UNLIMITED,
    },
    axisQuantitative: { tickCount: 6 },
    axisY: { titleAngle: 0, titleAlign: "left", titleAnchor: "end", titleY: -8, titleX: 0 },
    legend: {
      ...QUIET, orient: "top", labelLimit: UNLIMITED, symbolLimit: UNLIMITED, columns: 2, columnPadding: 40,
      symbolType: "square", offset: 22,
    },
    header: { labelColor: "var(--ink)", titleColor: "var(--soft)", labelFontSize: 12 },
  };
  const figures = [...document.querySelectorAll("figure:has(> .drawing)")];
  const drawing = (figure) => figure.querySelector(".drawing");

  function show(figure, isDrawn) {
    drawing(figure).hidden = !isDrawn;
    figure.querySelector(".not-drawn").hidden = isDrawn;
    const numbers = figure.querySelector(".numbers");
    if (numbers) numbers.open = !isDrawn;
  }

  // The specification, fitted to the available width.
  function fitted(spec, room) {
    const next = { ...structuredClone(spec), config: structuredClone(CONFIG) }, narrow = room < NARROW;
    room = Math.min(room, WIDEST);
    if (next.vconcat) for (const part of next.vconcat) part.width = Math.max(160, room - BESIDE);
    else if (next.columns) next.columns = Math.max(1, Math.min(next.columns, Math.floor((room - BESIDE / 2) / (next.spec.width + 20))));
    else if (typeof next.width === "number") Object.assign(next, { width: room, autosize: { type: "fit-x", contains: "padding" } });
    if (narrow) {
      next.config.axis.labelLimit = Math.round(room / 3);
      next.config.legend.columns = 1;
    }
    return next;
  }

  const drawnAt = new Map(); // figure -> the width it was drawn for
  async function draw(figure) {
    const place = drawing(figure), next = workbench.make("div");
    const room = place.clientWidth - parseFloat(getComputedStyle(place).paddingLeft) || CLOSED;
    if (drawnAt.get(figure) === room) return;
    drawnAt.set(figure, room);
    const spec = JSON.parse(figure.querySelector("script").textContent);
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    next.style.cssText = "position:absolute;visibility:hidden";
    place.append(next);
    try {
      await vegaEmbed(next, fitted(spec, room), { actions: false, renderer: "svg", tooltip: { theme: dark ? "dark" : "light" } });
      next.style.cssText = "";
      place.replaceChildren(next);
      place.style.minHeight = "";
      place.classList.add("live");
    } catch (error) {
      console.warn(error);
      show(figure, false);
    }
  }

  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) if (isIntersecting) draw(target);
  }, { rootMargin: "400px" });

  // One after the other, also what is in something closed: paper opens it.
  async function drawTheRest() {
    const next = figures.find((figure) => !drawnAt.has(figure));
    if (!next) return;
    await draw(next);
    setTimeout(drawTheRest);
  }

  for (const figure of figures) show(figure, true);
  addEventListener("DOMContentLoaded", () => {
    for (const figure of figures) window.vegaEmbed ? seen.observe(figure) : show(figure, false);
    if (window.vegaEmbed) requestAnimationFrame(() => setTimeout(drawTheRest));
  });

  // Draws a chart again with another value of one of its parameters.
  workbench.redraw = (figure, name, value) => {
    const program = figure.querySelector("script"), spec = JSON.parse(program.textContent);
    spec.params.find((param) => param.name === name).value = value;
    program.textContent = JSON.stringify(spec);
    if (drawnAt.delete(figure)) return draw(figure);
  };

  let resized;
  addEventListener("resize", () => {
    clearTimeout(resized);
    resized = setTimeout(() => { for (const figure of drawnAt.keys()) draw(figure); }, 200);
  });
})();

"use strict";
// One request whole: what was sent, what came back, and what the scorers say. Whatever a model said is text, never markup.
workbench.exchange = (() => {
  const { make, count, block } = workbench;

  function folded(title, content) {
    const details = make("details", { class: "numbers" }, make("summary", {}, title));
    details.addEventListener("toggle", async () => {
      if (!details.open || details.children.length > 1) return;
      const filled = make("div");
      details.append(filled);
      try {
        filled.append(...(await content()).filter(Boolean));
      } catch (error) {
        filled.append(make("p", { class: "failed" }, error.message));
      }
    });
    return details;
  }

  function pretty(text) {
    try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
  }

  // As the rest of the page says it: 430 ms, 1.80 s, 2 m 05 s, 3 h 12 m.
  function time(ms) {
    if (ms == null) return null;
    const s = ms / 1000, two = (number) => String(Math.floor(number)).padStart(2, "0");
    if (s < 1) return `${Number(ms.toPrecision(3))} ms`;
    if (s < 60) return `${s.toPrecision(3)} s`;
    return s < 3600 ? `${Math.floor(s / 60)} m ${two(s % 60)} s` : `${Math.floor(s / 3600)} h ${two((s % 3600) / 60)} m`;
  }

  const scoreText = (value) => (value == null ? "unscored" : Number(value.toPrecision(3)).toString());

  // The messages of a request's body, each under who says it.
  function messages(body) {
    let sent;
    try { sent = JSON.parse(body).messages; } catch { return [block("request", body)]; }
    return (sent || []).map((message) =>
      block(message.role, typeof message.content === "string" ? message.content : JSON.stringify(message.content ?? message, null, 2)));
  }

  function facts(line, found) {
    const [prompt, completion, thinking] = found.usage;
    return [
      line.served == null ? "served model not named" : line.served === line.model ? null : `served as ${line.served}: ${found.identity ?? "not known"}`,
      line.reused ? "reused from an earlier run" : null, time(line.latency_ms),
      prompt == null && completion == null ? "usage not reported" : `${count(prompt)} prompt + ${count(completion)} completion tokens${thinking ? `, of which ${count(thinking)} reasoning` : ""}`,
      found.finish_reason ? `finish reason ${found.finish_reason}` : null, found.http_status == null ? null : `HTTP ${found.http_status}`,
      line.mark === "failed" ? found.evidence : null,
    ].filter(Boolean);
  }

  // line: of the index; found: its texts; raw: asks for request and response.
  return (line, found, raw) => {
    const scores = found.scores.map((score) =>
      make("p", {}, `${score.scorer}: ${scoreText(score.value)}${score.reason ? `, ${score.reason}` : ""}${score.extracted == null ? "" : `, read as “${score.extracted}”`}`));
    const attempts = found.attempts.length
      ? [make("h3", {}, `${found.attempts.length} attempts`), make("ol", {}, ...found.attempts.map(([outcome, status, ms, text]) =>
          make("li", {}, [outcome, status == null ? null : `HTTP ${status}`, time(ms), text].filter(Boolean).join(" · "))))]
      : [];
    const copied = async (event) => {
      await navigator.clipboard.writeText(found.answer || "");
      event.target.textContent = "Copied";
    };
    return [
      make("p", { class: "facts-line" }, ...facts(line, found).map((fact) => make("bdi", {}, fact))),
      block("prompt", found.input),
      found.choices.length ? block("choices", found.choices.join("\n")) : null,
      block("target", found.target),
      ...found.tool_calls.map((call) => block(`tool call: ${call.name}`, pretty(call.arguments))),
      block("answer", found.answer),
      found.answer && navigator.clipboard ? make("button", { type: "button", onclick: copied }, "Copy answer") : null,
      ...scores,
      block("error", found.error_text),
      ...attempts,
      found.reasoning ? folded("Reasoning", async () => [block("reasoning", found.reasoning)]) : null,
      folded("Messages as sent", async () => messages((await raw()).request || "")),
      folded("Raw request and response", async () => {
        const sent = await raw();
        return [block("request", sent.request && pretty(sent.request)), block("response, verbatim", sent.response)];
      }),
    ].filter(Boolean);
  };
})();

"use strict";
// The samples as a matrix: a row per sample, a column per model, a mark and what was read in each cell; texts when one is opened.
(() => {
  const browser = document.getElementById("browser");
  if (!browser) return;
  const PAGE = 25, MOST_PRINTED = 500, MOST_WORDED = 8;  // columns with words; more have marks alone
  const { make, count, state, keep } = workbench;
  const form = browser.querySelector("form"), table = browser.querySelector("table");
  const told = browser.querySelector("[role=status]"), heard = browser.querySelector("[aria-live]"), pager = browser.querySelector(".pager");
  const parts = new Map(), waiting = new Map(), digests = JSON.parse(browser.dataset.digests);
  let lines = [], rows = [], models = [], listed = [], page = 1, latest = 0, only = "", opened = null, current = null;  // the cell that is open, and which of its requests

  // mark -> [sign, class, words]; the words stand where nothing was read from the answer.
  const MARKS = {
    right: ["✓", "ok", "right"], wrong: ["✗", "failed", "wrong"], partly: ["◐", "wasted", "partly"], answered: ["", "", ""],
    unread: ["?", "unknown", "not judged"], pending: ["…", "unknown", "no judgement"], "left out": ["▲", "wasted", "fallback"], "cut off": ["✂", "wasted", "cut off"],
    refused: ["⊘", "wasted", "refused"],
    failed: ["!", "failed", ""], "no end": ["○", "unknown", "no end known"], unsent: ["○", "unknown", "not sent"],
  };
  // A cell is the requests of a sample and a model: one, or its repeats; those that were not sent are not in it.
  const any = (row, holds) => row.cells.some((cell) => cell.some(holds));
  const KINDS = {
    disagree: (row) => row.cells.length > 1 && row.disagree,
    wrong: (row) => any(row, (line) => line.mark === "wrong"),
    failed: (row) => row.cells.some((cell) => cell.length < row.repeats) || any(row, (line) => ["failed", "cut off", "refused", "no end"].includes(line.mark)),
    unread: (row) => any(row, (line) => ["unread", "pending"].includes(line.mark)),
    fallback: (row) => any(row, (line) => line.fallback),
  };

  // Parts of texts: in the page, or in files beside it, which a page opened from a file may load as scripts.
  // A file's name holds its digest: a page that is rendered again has other files, and the old one says that its own are gone.
  window.workbenchPart = (name, packed) => waiting.get(name)(packed);
  function packedPart(part) {
    const here = document.getElementById(`part-${part}`);
    if (here) return Promise.resolve(here.textContent);
    const name = `${part}-${digests[part[0]][Number(part.slice(1))]}`, file = `${browser.dataset.folder}/${name}.js`;
    return new Promise((done, failed) => {
      waiting.set(name, done);
      const missing = () => failed(new Error(`${file} not found; was this page rendered again? Reload it`));
      document.head.append(make("script", { src: file, onerror: missing }));
    });
  }
  function part(name) {
    if (!parts.has(name)) parts.set(name, packedPart(name).then(workbench.unpack).then(JSON.parse));
    return parts.get(name);
  }
  const texts = async (line) => (await part(`t${line.part}`))[line.place];
  const exchange = async (line) => (await part(`x${line.part}`))[line.place];
  const searchable = (found) =>
    [found.input, found.target, found.answer, found.reasoning, found.error_text, ...found.tool_calls.flatMap((call) => [call.name, call.arguments])]
      .filter(Boolean).join("\n").toLowerCase();

  // The columns: all models, or the chosen one.
  const columns = () => (form.elements.model.value ? [models.indexOf(form.elements.model.value)] : models.map((_, number) => number));

  const shownRows = (shown = columns()) => rows.map((row) => ({ ...row, cells: shown.map((number) => row.cells[number]) }));

  async function chosen() {
    const kind = form.elements.show.value, q = form.elements.q.value.trim().toLowerCase(), mine = ++latest;
    const found = shownRows().filter((row) => (!only || row.sample === only) && (!kind || KINDS[kind](row)));
    if (!q) return found;
    const hits = [];
    for (const row of found) {
      let hit = row.sample.toLowerCase().includes(q);
      for (const line of row.cells.flat()) {
        if (!hit) hit = line.snippet.toLowerCase().includes(q) || searchable(await texts(line)).includes(q);
      }
      if (hit) hits.push(row);
      if (mine !== latest) return null; // the reader kept typing
    }
    return hits;
  }

  async function show(changed, turned) {
    if (changed) page = 1;
    countKinds();
    let found;
    try {
      found = await chosen();
    } catch (error) {
      told.textContent = `The texts cannot be searched: ${error.message}.`;
      return;
    }
    if (found !== null) draw(found, turned);
  }

  // Draws a page of the rows that were found; turned: the button to which the focus returns.
  function draw(found, turned) {
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(Math.max(1, page), pages);
    const first = (page - 1) * PAGE;
    told.textContent = found.length
      ? `${count(first + 1)} to ${count(Math.min(first + PAGE, found.length))} of ${count(found.length)}${found.length < rows.length ? ` (${count(rows.length)} in all)` : ""}`
      : "No samples match.";
    opened = current = null;
    listed = found;
    table.replaceChildren(head(), make("tbody", {}, ...found.slice(first, first + PAGE).map(row)));
    const turn = (by, name) => make("button", { type: "button", disabled: page + by < 1 || page + by > pages, onclick: () => { page += by; keep({ open: "" }); show(false, name); } }, name);
    pager.replaceChildren(...(pages > 1 ? [turn(-1, "Previous"), `page ${page} of ${pages}`, turn(1, "Next")] : []));
    if (only) told.append(" ", make("button", { type: "button", onclick: () => { only = ""; show(true); } }, `Remove filter: sample ${only}`));
    keep({ ...Object.fromEntries(new FormData(form)), sample: only, page: page > 1 ? String(page) : "" });
    if (turned) ([...pager.querySelectorAll("button")].find((button) => button.textContent === turned && !button.disabled) ?? pager.querySelector("button:enabled"))?.focus();
    const open = state().get("open"), button = open && cellOf(open);
    if (button) reveal(button, lines[open]);
  }

  const cellOf = (number) => table.querySelector(`[data-numbers~="${CSS.escape(number)}"]`);

  function head() {
    const shown = columns(), few = shown.length <= MOST_WORDED;
    table.className = few ? "matrix" : "matrix dense";
    const names = shown.map((number) => make("th", { scope: "col", title: models[number] }, make("bdi", {}, models[number])));
    return make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "sample"), make("th", { scope: "col" }, "target"), ...names));
  }

  function row(found) {
    const label = make("th", { scope: "row" }, make("bdi", { title: found.sample }, found.sample), found.disagree ? make("small", { class: "soft" }, " differs") : null);
    return make("tr", {}, label, make("td", { class: "target" }, make("bdi", { title: found.target }, found.target ?? "")), ...found.cells.map((of) => cell(of, found.repeats)));
  }

  function cell(of, repeats) {
    if (!of.length) {
      const [sign, kind, words] = MARKS.unsent;
      return make("td", {}, make("span", { class: "cell" }, make("span", { class: `mark ${kind}`, title: words }, sign), make("span", { class: "read soft" }, words)));
    }
    const [signs, kind, read] = repeats > 1 ? folded(of, repeats) : single(of[0]);
    const title = [of[0].model, ...(repeats > 1 ? [] : [MARKS[of[0].mark][2] || of[0].outcome, of[0].fallback ? `answered by ${of[0].served}` : ""]), read].filter(Boolean).join(" · ");
    return make("td", {}, make("button", { type: "button", class: "cell", title, "aria-expanded": "false", "aria-label": title, "data-numbers": of.map((line) => line.number).join(" "), onclick: (event) => toggle(event.currentTarget, of[0]) },
      make("span", { class: `mark ${kind}` }, signs), make("bdi", { class: "read" }, read)));
  }

  // How a request ended, and what was read from its answer: signs, class, words.
  function single(line) {
    const [sign, kind, words] = MARKS[line.mark];
    const flag = line.fallback && line.mark !== "left out" ? "▲" : "";
    const read = line.mark === "failed" ? line.outcome : line.extracted ?? (["right", "wrong", "partly", "answered"].includes(line.mark) ? line.snippet || (line.tools ? `${line.tools} tool call${line.tools > 1 ? "s" : ""}` : words) : words);
    const value = line.mark === "partly" ? `${Number(line.value.toPrecision(2))} ` : "";
    return [sign + flag, kind, value + read];
  }

  // Repeats of a sample as one: how many of all were right, and how those ended that were not judged.
  function folded(of, repeats) {
    const marks = [...of.map((line) => line.mark), ...Array(repeats - of.length).fill("unsent")];
    const number = (mark) => marks.filter((one) => one === mark).length;
    const judged = marks.some((mark) => ["right", "wrong", "partly", "unread", "pending"].includes(mark));
    const told = Object.keys(MARKS).filter((mark) => !["right", "wrong", "answered"].includes(mark) && number(mark));
    const read = [`${number(judged ? "right" : "answered")} of ${repeats} ${judged ? "right" : "answered"}`, ...told.map((mark) => `${number(mark)} ${MARKS[mark][2] || mark}`)].join(", ");
    const same = new Set(marks).size === 1, most = same ? marks[0] : ["right", "partly"].some(number) ? "partly" : number("wrong") ? "wrong" : of[0].mark;
    const flag = of.some((line) => line.fallback) && most !== "left out" ? "▲" : "";
    return [MARKS[most][0] + flag, MARKS[most][1], read];
  }

  // Paper has what is shown and the rows before and after it; an opened cell stays open.
  function print() {
    const first = (page - 1) * PAGE, body = table.tBodies[0];
    if (listed.length <= PAGE) return;
    body.prepend(...listed.slice(0, first).map(row));
    body.append(...listed.slice(first + PAGE, Math.max(MOST_PRINTED, first + PAGE)).map(row));
    told.textContent = listed.length > MOST_PRINTED
      ? `The first ${count(MOST_PRINTED)} of ${count(listed.length)} are printed; filter the page for others.`
      : `All ${count(listed.length)} are printed.`;
  }

  function toggle(button, line) {
    if (opened !== button) return reveal(button, line);
    close();
    keep({ open: "" });
  }

  // Shows a request of a cell below its row, and closes what was open.
  async function reveal(button, line) {
    close();
    opened = button;
    current = line;
    button.setAttribute("aria-expanded", "true");
    keep({ open: String(line.number) });
    let content;
    try {
      content = workbench.exchange(line, await texts(line), () => exchange(line));
    } catch (error) {
      content = [make("p", { class: "failed" }, error.message)];
    }
    if (current !== line) return; // another one was opened meanwhile
    const go = (by, name) => {
      const next = neighbour(by), what = next && next.line.home === line.home ? "repeat" : "sample";
      return make("button", { type: "button", disabled: !next, onclick: () => step(by) }, `${name} ${what}`);
    };
    const other = (one) => {
      const [signs, , read] = single(one);
      return make("button", { type: "button", title: read, "aria-pressed": String(one === line), onclick: () => { reveal(button, one); bring(button); } }, `${one.epoch} ${signs}`);
    };
    const several = line.home.repeats > 1 ? make("p", { class: "pager" }, `repeat ${line.epoch} of ${line.home.repeats}`, ...line.home.cells[line.column].map(other)) : null;
    const copyLink = (event) => navigator.clipboard.writeText(location.href).then(() => { event.target.textContent = "Copied"; });
    const bar = make("p", { class: "pager" }, make("b", {}, make("bdi", {}, line.sample), " · ", make("bdi", {}, line.model)), go(-1, "Previous"), go(1, "Next"),
      navigator.clipboard ? make("button", { type: "button", onclick: copyLink }, "Copy link") : null);
    const holder = make("tr", { class: "opened" }, make("td", { colspan: table.tHead.rows[0].cells.length }, make("div", { class: "exchange" }, bar, several, ...content)));
    button.closest("tr").after(holder);
    heard.textContent = [`Opened: sample ${line.sample}`, line.model, several && `repeat ${line.epoch} of ${line.home.repeats}`, MARKS[line.mark][2] || line.outcome].filter(Boolean).join(", ");
  }

  function close() {
    opened?.setAttribute("aria-expanded", "false");
    table.querySelector("tr.opened")?.remove();
    opened = current = null;
  }

  // The next repeat of what is open, or what the same model was asked in the next row that has it, on whatever page that is.
  function neighbour(by) {
    if (!current) return null;
    const of = current.home.cells[current.column], from = listed.findIndex((row) => row.cells.includes(of));
    const column = listed[from].cells.indexOf(of), repeat = of[of.indexOf(current) + by];
    if (repeat) return { at: from, line: repeat };
    for (let at = from + by; listed[at]; at += by) {
      if (listed[at].cells[column].length) return { at, line: listed[at].cells[column].at(by > 0 ? 0 : -1) };
    }
    return null;
  }

  // Opens the neighbour, and turns to its page.
  function step(by) {
    const next = neighbour(by);
    if (!next) return;
    const there = 1 + Math.floor(next.at / PAGE), find = () => cellOf(String(next.line.number));
    if (there === page) reveal(find(), next.line);
    else {
      page = there;
      keep({ open: String(next.line.number) });
      draw(listed);
    }
    bring(find());
  }

  function bring(button) {
    button.focus({ preventScroll: true });
    button.closest("tr").scrollIntoView({ block: "nearest" });
  }

  addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("input:not([type=radio]), select, textarea");
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
    if (event.key === "Escape" && opened) {
      const cell = opened;
      toggle(cell);
      heard.textContent = "Closed.";
      return bring(cell);
    }
    const by = { j: 1, k: -1 }[event.key];
    if (by && opened) return step(by);
    const first = by > 0 && table.querySelector("button.cell");
    if (!first) return;
    first.click();
    bring(first);
  });

  // What the page holds, as rows of cells with the requests in the order of their repeats; samples on which the models differ come first, then those with a trouble.
  function take(index) {
    models = index.models;
    const rowsOf = (columns, made) => (columns.sample ?? columns.row ?? []).map((_, number) => Object.assign(made(number), ...Object.keys(columns).map((name) => ({ [name]: columns[name][number] }))));
    rows = rowsOf(index.rows, () => ({ cells: models.map(() => []) }));
    lines = rowsOf(index.lines, (number) => ({ number }));
    for (const line of lines) {
      Object.assign(line, { home: rows[line.row], sample: rows[line.row].sample, column: line.model, model: models[line.model] });
      line.home.cells[line.column].push(line);
    }
    for (const cell of rows.flatMap((row) => row.cells)) cell.sort((one, other) => one.epoch - other.epoch);
    const rank = (row) => (row.disagree ? 0 : KINDS.failed(row) || KINDS.fallback(row) ? 1 : 2);
    const { compare } = new Intl.Collator("en", { numeric: true });
    rows = rows.map((row) => [rank(row), row]).sort(([a, one], [b, other]) => a - b || compare(one.sample, other.sample)).map(([, row]) => row);
  }

  function fill() {
    for (const model of models) form.elements.model.append(make("option", { value: model }, model));
    form.elements.model.closest("label").hidden = models.length < 2;
    for (const radio of form.elements.show) radio.dataset.name = radio.nextSibling.textContent;
  }

  // How many samples each kind has in the columns that are shown. One that is chosen stays, whatever it has.
  function countKinds() {
    const shown = shownRows();
    for (const radio of form.elements.show) {
      const found = radio.value ? shown.filter(KINDS[radio.value]).length : shown.length;
      radio.nextSibling.textContent = `${radio.dataset.name} ${count(found)}`;
      radio.disabled = radio.parentElement.hidden = !found && !radio.checked;
    }
  }

  function recall() {
    const kept = state();
    form.elements.model.value = models.includes(kept.get("model")) ? kept.get("model") : "";
    form.elements.show.value = kept.get("show") in KINDS ? kept.get("show") : "";
    form.elements.q.value = kept.get("q") || "";
    only = kept.get("sample") || "";
    page = Number(kept.get("page")) || 1;
  }

  // A URL that selects samples scrolls to them at once, without animation.
  async function follow() {
    recall();
    await show(false);
    if (["model", "show", "q", "sample", "open", "page"].some((name) => state().has(name))) document.getElementById("samples").scrollIntoView();
  }

  workbench.unpack(document.getElementById("samples-index").textContent).then((text) => {
    take(JSON.parse(text));
    fill();
    addEventListener("hashchange", follow);
    addEventListener("beforeprint", print);
    addEventListener("afterprint", () => show(false));
    let typing;
    form.addEventListener("input", (event) => {
      clearTimeout(typing);
      keep({ open: "" });
      typing = setTimeout(() => show(true), event.target.name === "q" ? 150 : 0);
    });
    form.addEventListener("reset", () => setTimeout(() => { keep({ open: "" }); show(true); }));
    form.querySelector("[type=reset]").addEventListener("click", () => { only = ""; });
    form.addEventListener("submit", (event) => event.preventDefault());
    document.getElementById("first-samples").remove();
    browser.hidden = false;
    // On reload the page stays where its reader was.
    if (performance.getEntriesByType("navigation")[0]?.type === "navigate") return follow();
    recall();
    return show(false);
  });
})();

"use strict";
// A comparison: another baseline at a choice, and the samples behind each difference with the words marked that differ.
(() => {
  const place = document.getElementById("compare-index");
  if (!place) return;
  const PAGE = 10, MOST_WORDS = 600, LEAST_ALIKE = 0.3;  // of two texts that are less alike the marks say nothing
  const { make, count, state, keep, block } = workbench;
  const form = document.getElementById("apart"), list = document.getElementById("apart-list");
  const told = form.querySelector("[role=status]"), pager = document.getElementById("apart-pager");
  const baseline = document.getElementById("baseline"), beside = form.elements.side;
  let index, page = 1, drawn = baseline ? baseline.selectedIndex : 0;

  const words = (text) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];

  // A text in pieces, those in <mark> that the other text has not in that place: the longest common sequence of words.
  function marked(text, other) {
    const a = words(text), b = words(other);
    if (!a.length || !b.length || a.length > MOST_WORDS || b.length > MOST_WORDS) return [text];
    const wide = b.length + 1, longest = new Uint16Array((a.length + 1) * wide);
    for (let i = a.length - 1; i >= 0; i--) {
      for (let j = b.length - 1; j >= 0; j--) {
        const at = i * wide + j;
        longest[at] = a[i] === b[j] ? longest[at + wide + 1] + 1 : Math.max(longest[at + wide], longest[at + 1]);
      }
    }
    if ((2 * longest[0]) / (a.length + b.length) < LEAST_ALIKE) return [text];
    const pieces = [];
    const put = (word, differs) => {
      const last = pieces.at(-1);
      if (last && last.differs === differs) last.text += word;
      else pieces.push({ text: word, differs });
    };
    for (let i = 0, j = 0; i < a.length; ) {
      if (j < b.length && a[i] === b[j]) put(a[i++], false), j++;
      else if (j < b.length && longest[i * wide + j + 1] >= longest[(i + 1) * wide + j]) j++;
      else put(a[i++], true);
    }
    return pieces.map(({ text, differs }) => (differs ? make("mark", {}, text) : text));
  }

  function said(name, answers, others) {
    const parts = answers.flatMap(([epoch, text, kind, score, reason], number) => [
      make("p", { class: "facts-line" }, make("span", { class: kind }, score), answers.length > 1 ? make("span", {}, `repeat ${epoch}`) : null, make("bdi", {}, reason)),
      block("", text, marked(text, others[number]?.[1] ?? "")),
    ]);
    return make("div", {}, make("h3", {}, make("bdi", {}, name)), ...(parts.length ? parts : [make("p", { class: "soft" }, "no answer")]));
  }

  function sample(number, pair) {
    const [id, asked, target] = index.samples[number];
    const [there, here] = [pair.baseline, pair.side].map((side) => index.answers[side][number] ?? []);
    return make("div", { class: "exchange" }, make("h3", {}, "sample ", make("bdi", {}, id)), block("", asked),
      target ? make("p", { class: "facts-line" }, "target ", make("b", {}, make("bdi", {}, target))) : null,
      make("div", { class: "cards" }, said(index.sides[pair.baseline], there, here), said(index.sides[pair.side], here, there)));
  }

  const pairs = () => index.pairs[baseline ? baseline.selectedIndex : 0];

  // turned: the button to which the focus returns.
  function show(changed, turned) {
    if (changed) page = 1;
    const pair = pairs()[beside.selectedIndex], kinds = [...form.elements.show];
    for (const [number, radio] of kinds.entries()) {
      radio.disabled = !pair.counts[number];
      radio.nextSibling.textContent = `${index.kinds[number]} ${count(pair.counts[number])}`;
    }
    if (!kinds.some((radio) => radio.checked && !radio.disabled)) (kinds.find((radio) => !radio.disabled) ?? kinds[0]).checked = true;
    const kind = kinds.findIndex((radio) => radio.checked), listed = pair.listed[kind], all = pair.counts[kind];
    const pages = Math.max(1, Math.ceil(listed.length / PAGE));
    page = Math.min(Math.max(1, page), pages);
    const first = (page - 1) * PAGE, last = Math.min(first + PAGE, listed.length);
    told.textContent = listed.length ? `${count(first + 1)} to ${count(last)} of ${count(all)}${all > listed.length ? `; the page holds the first ${count(listed.length)}` : ""}` : "No samples.";
    list.replaceChildren(...listed.slice(first, last).map((number) => sample(number, pair)));
    const turn = (by, name) => make("button", { type: "button", disabled: page + by < 1 || page + by > pages, onclick: () => { page += by; show(false, name); form.scrollIntoView(); } }, name);
    pager.replaceChildren(...(pages > 1 ? [turn(-1, "Previous"), `page ${page} of ${pages}`, turn(1, "Next")] : []));
    if (turned) ([...pager.querySelectorAll("button")].find((button) => button.textContent === turned && !button.disabled) ?? pager.querySelector("button:enabled"))?.focus({ preventScroll: true });
    const usual = kinds.findIndex((radio) => !radio.disabled);  // a choice of the page itself is not kept
    keep({ side: beside.selectedIndex ? beside.value : "", show: kind === usual ? "" : index.kinds[kind], page: page > 1 ? String(page) : "" });
  }

  // Puts the texts of the chosen baseline into their places, and draws its differences.
  function choose() {
    const chosen = baseline ? baseline.selectedIndex : 0, texts = index.texts[chosen];
    for (const element of document.querySelectorAll("[data-text]")) {
      element.textContent = texts[element.dataset.text] ?? "";
      if (element.matches("p")) element.hidden = !element.textContent;
    }
    const name = beside.value;
    beside.replaceChildren(...pairs().map((pair) => make("option", {}, index.sides[pair.side])));
    if ([...beside.options].some((option) => option.value === name)) beside.value = name;
    const figure = document.getElementById("chart-differences");
    if (figure && chosen !== drawn) workbench.redraw(figure, "chosen", (drawn = chosen));
    if (baseline) keep({ baseline: [...baseline.options].find((option) => option.defaultSelected) === baseline.selectedOptions[0] ? "" : baseline.value });
  }

  function recall() {
    const kept = state(), has = (select, name) => [...select.options].some((option) => option.value === name);
    if (baseline && has(baseline, kept.get("baseline"))) baseline.value = kept.get("baseline");
    choose();
    if (has(beside, kept.get("side"))) beside.value = kept.get("side");
    for (const radio of form.elements.show) radio.checked = index.kinds[radio.value] === (kept.get("show") ?? index.kinds[0]);
    page = Number(kept.get("page")) || 1;
    show(false);
  }

  workbench.unpack(place.textContent).then((text) => {
    index = JSON.parse(text);
    const linked = ["side", "show", "page"].some((name) => state().has(name));  // of the address that was opened
    recall();
    addEventListener("hashchange", recall);
    baseline?.addEventListener("input", () => { choose(); show(true); });
    form.addEventListener("input", () => show(true));
    form.addEventListener("submit", (event) => event.preventDefault());
    document.getElementById("first-apart").remove();
    form.hidden = false;
    if (baseline) baseline.closest("label").hidden = false;
    if (linked) form.scrollIntoView();
  });
})();
