"use strict";
// Tables sort at their heads; long ones filter and turn pages. The address remembers how.
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

  function enliven(table) {
    const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells], all = [...body.rows];
    const prefix = `t.${table.id}`, kept = workbench.state();
    let sorted = kept.get(`${prefix}.sort`) || "", text = kept.get(`${prefix}.q`) || "", page = Number(kept.get(`${prefix}.page`) || 1);
    const tools = workbench.make("div", { class: "tools" });
    const told = workbench.make("span", { role: "status" });

    function show() {
      const [column, direction] = sorted.split(".");
      let rows = text ? all.filter((row) => row.textContent.toLowerCase().includes(text.toLowerCase())) : [...all];
      if (sorted) {
        const way = direction === "desc" ? -1 : 1;
        const keyed = rows.map((row) => [value(row.cells[column]), row]);
        keyed.sort(([a], [b]) => (a === null || b === null ? compare(a, b) : way * compare(a, b)));
        rows = keyed.map(([, row]) => row);
      }
      heads.forEach((head, at) => {
        if (String(at) === column) head.setAttribute("aria-sort", direction === "desc" ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      const pages = Math.max(1, Math.ceil(rows.length / PAGE));
      page = Math.min(Math.max(1, page), pages);
      body.replaceChildren(...rows.slice((page - 1) * PAGE, page * PAGE));
      told.textContent = `${workbench.count(rows.length)} rows${pages > 1 ? `, page ${page} of ${pages}` : ""}`;
      for (const button of tools.querySelectorAll("button")) button.disabled = page + Number(button.value) < 1 || page + Number(button.value) > pages;
      workbench.keep({ [`${prefix}.sort`]: sorted, [`${prefix}.q`]: text, [`${prefix}.page`]: page > 1 ? String(page) : "" });
    }

    heads.forEach((head, at) => {
      const sort = () => {
        const first = head.classList.contains("n") ? "desc" : "asc", other = first === "desc" ? "asc" : "desc";
        sorted = sorted === `${at}.${first}` ? `${at}.${other}` : sorted === `${at}.${other}` ? "" : `${at}.${first}`;
        page = 1;
        show();
      };
      head.replaceChildren(workbench.make("button", { type: "button", onclick: sort }, head.textContent));
    });
    if (all.length > FILTER_FROM) {
      const filter = workbench.make("input", { type: "search", placeholder: "filter rows", "aria-label": "filter rows", value: text });
      filter.addEventListener("input", () => { text = filter.value; page = 1; show(); });
      const turn = (by, name) => workbench.make("button", { type: "button", value: by, onclick: () => { page += by; show(); } }, name);
      tools.append(filter, told, ...(all.length > PAGE ? [turn(-1, "Back"), turn(1, "On")] : []));
      table.parentElement.before(tools);
    }
    if (sorted || text || page > 1 || all.length > PAGE) show();
  }

  for (const table of document.querySelectorAll("table[data-query]")) {
    if (table.tBodies[0].rows.length > 1) enliven(table);
  }
})();
