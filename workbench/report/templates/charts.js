"use strict";
// Static charts become interactive, from the same specification, when scrolled into view.
(() => {
  const packed = document.getElementById("vega");
  if (!packed) return;
  const NARROW = 560, WIDEST = 880, BESIDE = 110;
  const { nonce } = document.currentScript; // only scripts that this one adds may run
  let loading;

  function load() {
    loading ??= workbench.unpack(packed.textContent).then((program) => {
      document.head.append(workbench.make("script", { nonce }, program));
    });
    return loading;
  }

  // The specification, fitted to the available width.
  function fitted(spec, room) {
    const next = structuredClone(spec), narrow = room < NARROW;
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

  async function enliven(drawing) {
    const spec = JSON.parse(drawing.parentElement.querySelector("script").textContent);
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    await load();
    const place = workbench.make("div");
    const options = { actions: false, renderer: "svg", tooltip: { theme: dark ? "dark" : "light" } };
    const still = drawing.firstElementChild;
    still.after(place);
    place.style.cssText = "position:absolute;visibility:hidden";
    const room = drawing.clientWidth - parseFloat(getComputedStyle(drawing).paddingLeft);
    await vegaEmbed(place, fitted(spec, room), options);
    place.style.cssText = "";
    drawing.replaceChildren(place);
    drawing.classList.add("live");
  }

  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      enliven(target);
    }
  }, { rootMargin: "400px" });
  const all = document.querySelectorAll(".drawing");
  for (const drawing of all) seen.observe(drawing);

  // Draws a chart again with another value of one of its parameters.
  workbench.redraw = (figure, name, value) => {
    const program = figure.querySelector("script"), spec = JSON.parse(program.textContent);
    spec.params.find((param) => param.name === name).value = value;
    program.textContent = JSON.stringify(spec);
    seen.unobserve(figure.querySelector(".drawing"));
    return enliven(figure.querySelector(".drawing"));
  };

  let waiting;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { for (const drawing of all) if (drawing.classList.contains("live")) enliven(drawing); }, 200);
  });
})();
