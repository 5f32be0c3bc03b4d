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
