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
