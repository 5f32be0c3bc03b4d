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
