"use strict";
// The sample browser: short lines at once, texts when one is opened or searched. Whatever a model said is text, never markup.
(() => {
  const browser = document.getElementById("browser");
  if (!browser) return;
  const PAGE = 25, CLAMP = 1200, NO = "(none)", FILTERS = ["model", "outcome", "served", "score", "q"];
  const NAMING = [...FILTERS, "disagree", "sample", "open", "page"];
  const { make, count, state, keep } = workbench;
  const form = browser.querySelector("form"), list = browser.querySelector(".samples");
  const told = browser.querySelector("[role=status]"), pager = browser.querySelector(".pager");
  const parts = new Map(), waiting = new Map(), digests = JSON.parse(browser.dataset.digests);
  let lines = [], page = 1, latest = 0, only = "";

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

  const scoreText = (value) => (value == null ? "unscored" : Number(value.toPrecision(3)).toString());
  const scoreKey = (scorer, value) => `${scorer}: ${scoreText(value)}`;
  const searchable = (found) =>
    [found.input, found.target, found.answer, found.reasoning, found.error_text, ...found.tool_calls.flatMap((call) => [call.name, call.arguments])]
      .filter(Boolean).join("\n").toLowerCase();

  function fill(name, values) {
    const select = form.elements[name], counts = new Map();
    for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
    for (const [value, number] of [...counts].sort(([a], [b]) => String(a).localeCompare(String(b), "en", { numeric: true }))) {
      select.append(make("option", { value }, `${value} (${count(number)})`));
    }
    select.parentElement.hidden = counts.size < 2;
  }

  async function chosen() {
    const wanted = Object.fromEntries(new FormData(form)), q = wanted.q.trim().toLowerCase();
    const mine = ++latest;
    let found = lines.filter((line) =>
      (!only || line.sample === only) &&
      (!wanted.model || line.model === wanted.model) &&
      (!wanted.outcome || line.outcome === wanted.outcome) &&
      (!wanted.served || (line.served ?? NO) === wanted.served) &&
      (!wanted.score || Object.entries(line.scores).some(([scorer, value]) => scoreKey(scorer, value) === wanted.score)) &&
      (!wanted.disagree || line.disagree));
    if (q) {
      const hits = [];
      for (const line of found) {
        if (line.sample.toLowerCase().includes(q) || line.snippet.toLowerCase().includes(q) || searchable(await texts(line)).includes(q)) hits.push(line);
        if (mine !== latest) return null; // the reader kept typing
      }
      found = hits;
    }
    return found;
  }

  async function show(changed, turned) {
    if (changed) page = 1;
    let found;
    try {
      found = await chosen();
    } catch (error) {
      told.textContent = `The texts cannot be searched: ${error.message}.`;
      return;
    }
    if (found === null) return;
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(Math.max(1, page), pages);
    const first = (page - 1) * PAGE;
    told.textContent = found.length
      ? `${count(first + 1)} to ${count(Math.min(first + PAGE, found.length))} of ${count(found.length)}${found.length < lines.length ? ` (${count(lines.length)} in all)` : ""}`
      : "No samples match.";
    list.replaceChildren(...found.slice(first, first + PAGE).map(item));
    const turn = (by, name) => make("button", { type: "button", disabled: page + by < 1 || page + by > pages, onclick: () => { page += by; show(false, name); } }, name);
    pager.replaceChildren(...(pages > 1 ? [turn(-1, "Previous"), `page ${page} of ${pages}`, turn(1, "Next")] : []));
    if (only) told.append(" ", make("button", { type: "button", onclick: () => { only = ""; show(true); } }, `Remove filter: sample ${only}`));
    const { disagree = "", ...others } = Object.fromEntries(new FormData(form));
    keep({ ...others, disagree, sample: only, page: page > 1 ? String(page) : "" });
    if (turned) [...pager.querySelectorAll("button")].find((button) => button.textContent === turned && !button.disabled)?.focus();
    const open = state().get("open");
    if (open) list.querySelector(`[data-number="${CSS.escape(open)}"] > button`)?.click();
  }

  function item(line) {
    const scores = Object.values(line.scores).map(scoreText).join(" · ");
    const named = Object.entries(line.scores).map(([scorer, value]) => scoreKey(scorer, value)).join(", ");
    const row = make("li", { "data-number": line.number });
    const button = make("button", { class: "line", type: "button", "aria-expanded": "false", onclick: () => toggle(row, line) },
      make("span", { class: line.kind, title: line.outcome }, make("bdi", {}, line.sample + (line.epoch > 1 ? ` · epoch ${line.epoch}` : ""))),
      make("bdi", { title: line.served && line.served !== line.model ? `served as ${line.served}` : line.model }, line.model),
      make("span", {}, line.outcome),
      make("span", { title: named }, scores),
      make("bdi", { class: "said" }, line.tools ? `${line.tools} tool call${line.tools > 1 ? "s" : ""}  ${line.snippet}` : line.snippet),
      make("span", { class: "cost" }, `${line.total_tokens == null ? "?" : count(line.total_tokens)} tok`));
    row.append(button);
    return row;
  }

  async function toggle(row, line) {
    const button = row.firstElementChild;
    if (button.getAttribute("aria-expanded") === "true") {
      row.querySelector(".exchange")?.remove();
      button.setAttribute("aria-expanded", "false");
      keep({ open: "" });
      return;
    }
    button.setAttribute("aria-expanded", "true");
    keep({ open: String(line.number) });
    let opened;
    try {
      opened = detail(line, await texts(line));
    } catch (error) {
      opened = make("div", { class: "exchange" }, make("p", { class: "failed" }, error.message));
    }
    if (button.getAttribute("aria-expanded") === "true" && row.children.length === 1) row.append(opened);
  }

  // A text, clamped when it is long, and opened in place.
  function block(title, text) {
    if (text == null || text === "") return null;
    const pre = make("pre", { dir: "auto" }, text);
    const part = make("div", {}, make("h4", {}, title), pre);
    if (text.length > CLAMP) {
      pre.classList.add("clamped");
      const open = () => { pre.classList.remove("clamped"); more.remove(); };
      const more = make("button", { type: "button", onclick: open }, `Show all ${count(text.length)} characters`);
      part.append(more);
    }
    return part;
  }

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

  function detail(line, found) {
    const [prompt, completion, thinking] = found.usage;
    const facts = [
      line.served == null ? "served model not named" : line.served === line.model ? null : `served as ${line.served}`, line.reused ? "reused from an earlier run" : null,
      line.latency_ms == null ? null : line.latency_ms < 1000 ? `${line.latency_ms} ms` : `${(line.latency_ms / 1000).toPrecision(3)} s`,
      prompt == null && completion == null ? "usage not reported" : `${count(prompt)} prompt + ${count(completion)} completion tokens${thinking ? `, of which ${count(thinking)} reasoning` : ""}`,
      found.finish_reason ? `finish reason ${found.finish_reason}` : null, found.http_status == null ? null : `HTTP ${found.http_status}`,
      line.kind === "ok" ? null : found.evidence,
    ].filter(Boolean);
    const scores = found.scores.map((score) =>
      make("p", {}, `${scoreKey(score.scorer, score.value)}, ${score.reason}${score.extracted == null ? "" : `, read as “${score.extracted}”`}`));
    const others = lines.some((other) => other !== line && other.sample === line.sample)
      ? make("button", { type: "button", onclick: () => { form.reset(); only = line.sample; keep({ open: "" }); } }, "All answers to this sample")
      : null;
    const parts = [
      make("p", { class: "facts-line" }, ...facts.map((fact) => make("bdi", {}, fact))),
      block("prompt", found.input),
      found.choices.length ? block("choices", found.choices.join("\n")) : null,
      block("target", found.target),
      ...found.tool_calls.map((call) => block(`tool call: ${call.name}`, pretty(call.arguments))),
      block("answer", found.answer),
      ...scores,
      block("error", found.error_text),
      found.reasoning ? folded("Reasoning", async () => [block("reasoning", found.reasoning)]) : null,
      folded("Raw request and response", async () => {
        const raw = await exchange(line);
        return [block("request", raw.request && pretty(raw.request)), block("response, verbatim", raw.response)];
      }),
      others,
    ];
    return make("div", { class: "exchange" }, ...parts);
  }

  workbench.unpack(document.getElementById("samples-index").textContent).then((text) => {
    const columns = JSON.parse(text), names = Object.keys(columns);
    lines = columns.sample.map((_, number) => Object.assign({ number }, ...names.map((name) => ({ [name]: columns[name][number] }))));
    fill("model", lines.map((line) => line.model));
    fill("outcome", lines.map((line) => line.outcome));
    fill("served", lines.map((line) => line.served ?? NO));
    fill("score", lines.flatMap((line) => Object.entries(line.scores).map(([scorer, value]) => scoreKey(scorer, value))));
    form.elements.disagree.parentElement.hidden = !lines.some((line) => line.disagree);
    function recall() {
      const kept = state();
      for (const name of FILTERS) {
        form.elements[name].value = kept.get(name) || "";
        if (form.elements[name].selectedIndex === -1) form.elements[name].value = ""; // not a value of this run
      }
      form.elements.disagree.checked = kept.has("disagree");
      only = kept.get("sample") || "";
      page = Number(kept.get("page")) || 1;
    }
    // A URL that selects samples scrolls to them at once, without animation.
    async function follow() {
      recall();
      await show(false);
      if (NAMING.some((name) => state().has(name))) document.getElementById("samples").scrollIntoView();
    }
    addEventListener("hashchange", follow);
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
