
/* --- tables: sorted by a click on a column's head, filtered by text, shown in part at first --- */

const FIRST_ROWS = 10;
const LONG_NAME = window.matchMedia("(max-width: 60rem)").matches ? 28 : 40;

/* Columns that say what a row is about. The first of HEADS that a table has heads the row; KEYS come next to it, so that
 * they can be read where the table is wider than the page. */
const HEADS = ["name", "rank", "stage", "what", "why", "kind", "finding", "item", "stream"];
const KEYS = ["range", "call", "operator", "what", "kind", "error", "gpu", "device"];

function orderColumns(columns) {
  const at = HEADS.map((word) => columns.findIndex((column) => column.word === word)).find((i) => i >= 0);
  const texts = columns.map((column, i) => (column.type === "text" ? i : -1));
  const place = (i) => (i === (at === undefined ? Math.max(0, ...texts) : at) ? 0 : KEYS.includes(columns[i].word) && ["text", "number"].includes(columns[i].type) ? 1 : 2);
  return columns.map((column, i) => i).sort((a, b) => place(a) - place(b));
}

function cellContent(cell) {
  if (cell.text === "") return html("span", { class: "muted" }, "–");
  return cell.text.length > LONG_NAME ? html("span", { class: "cut", title: cell.text }, cell.text) : cell.text;
}

function tableCell(cell, column, isHead) {
  const isText = column.type === "text";
  const element = html(isHead ? "th" : "td", { scope: isHead ? "row" : null, class: isText ? "text" : null }, cellContent(cell));
  if (column.type === "percent" && cell.value !== null) {
    element.classList.add("share");
    element.style.setProperty("--part", `${Math.max(0, Math.min(100, cell.value))}%`);
  }
  return element;
}

/* Numbers from the greatest, texts from A; what is empty comes last. */
function compareRows(at, type, ascending) {
  const sign = ascending ? 1 : -1;
  return (a, b) => {
    const [x, y] = [a[at], b[at]];
    if (type === "text" || type === "any") {
      if (!x.text || !y.text) return (x.text ? 0 : 1) - (y.text ? 0 : 1);
      return sign * x.text.localeCompare(y.text, "en", { numeric: true });
    }
    if (x.value === null || y.value === null) return (x.value === null ? 1 : 0) - (y.value === null ? 1 : 0);
    return sign * (x.value - y.value);
  };
}

function tableView(table) {
  const order = orderColumns(table.columns);
  const head = order[0];
  const state = { rows: table.rows, filter: "", all: false };
  const body = html("tbody", {});
  const status = html("span", { class: "small muted", "aria-live": "polite" });

  const update = () => {
    const wanted = state.rows.filter((row) => !state.filter || row.some((cell) => cell.text.toLowerCase().includes(state.filter)));
    const shown = state.all || state.filter ? wanted : wanted.slice(0, FIRST_ROWS);
    body.replaceChildren(...shown.map((row) => html("tr", {}, order.map((i) => tableCell(row[i], table.columns[i], i === head)))));
    status.textContent = shown.length < table.total ? `${asCount(shown.length)} of ${asCount(table.total)} rows` : "";
  };
  const heads = order.map((i) => {
    const column = table.columns[i];
    const element = html("th", { scope: "col", class: column.type === "text" ? "text" : null });
    element.append(html("button", { type: "button", click: () => {
      const was = element.getAttribute("aria-sort");
      const ascending = was ? was === "descending" : column.type === "text";
      for (const other of heads) other.removeAttribute("aria-sort");
      element.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      state.rows = [...table.rows].sort(compareRows(i, column.type, ascending));
      update();
    } }, column.title || column.word));
    return element;
  });
  const foot = table.sums && table.rows.length > 1
    ? html("tfoot", {}, html("tr", {}, order.map((i) => (i === head
      ? html("th", { scope: "row", class: "text" }, "total")
      : html("td", { class: table.columns[i].type === "text" ? "text" : null }, table.sums[i].text)))))
    : null;
  const element = html("table", {}, html("caption", {}, `${table.title}, ${asCount(table.total)} row${table.total === 1 ? "" : "s"}`),
    html("thead", {}, html("tr", {}, heads)), body, foot);
  update();
  return html("div", {}, tableTools(table, state, update, element, status),
    html("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": `Table: ${table.title}` }, element), status);
}

function tableTools(table, state, update, element, status) {
  const tools = html("div", { class: "tools" });
  if (table.rows.length > FIRST_ROWS) {
    const all = html("button", { type: "button", "aria-pressed": "false", click: () => {
      state.all = !state.all;
      all.setAttribute("aria-pressed", String(state.all));
      update();
    } }, table.rows.length < table.total ? `First ${asCount(table.rows.length)} rows` : `All ${asCount(table.rows.length)} rows`);
    tools.append(html("input", { type: "search", placeholder: "Filter", "aria-label": `Filter ${table.title}`,
      input: (event) => {
        state.filter = event.target.value.trim().toLowerCase();
        update();
      } }), all);
  }
  if (table.rows.some((row) => row.some((cell) => cell.text.length > LONG_NAME))) {
    const whole = html("button", { type: "button", "aria-pressed": "false", click: () => {
      whole.setAttribute("aria-pressed", String(element.classList.toggle("whole")));
    } }, "Whole names");
    tools.append(whole);
  }
  return tools.childElementCount ? tools : null;
}
