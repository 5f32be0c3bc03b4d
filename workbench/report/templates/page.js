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
