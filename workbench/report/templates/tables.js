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
