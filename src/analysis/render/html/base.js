"use strict";

/* --- elements: data becomes text nodes and attributes, never HTML --- */

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== "") element.append(child);
  return element;
}

const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/* --- values as people read them --- */

/* With three digits that count; LEAST: so many behind the point at least. */
function digits(value, least = 0) {
  const size = Math.abs(value);
  const most = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return value.toLocaleString("en-US", { maximumFractionDigits: most, minimumFractionDigits: Math.min(least, most) });
}

function scaled(value, units, step, least) {
  let unit = 0;
  let size = Math.abs(value);
  for (; unit + 1 < units.length && size >= step * 0.9995; unit++) size /= step;
  return `${digits(Math.sign(value) * size, unit && !Number.isInteger(size) ? least : 0)}\u00a0${units[unit]}`;
}

const asCount = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 1 });
const asBytes = (value) => scaled(value, ["B", "KiB", "MiB", "GiB", "TiB"], 1024, 2);
const asPercent = (value) => `${value.toFixed(1)}\u00a0%`;
const asTime = (ns) => scaled(ns, ["ns", "µs", "ms", "s"], 1000, 2);

/* A time of an axis that ends at END, with the digits that tell it from the next one, STEP later. */
function asTick(ns, end, step) {
  const [unit, size] = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]].find(([, length]) => end >= length) || ["ns", 1];
  const decimals = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
  return ns === 0 ? "0" : `${(ns / size).toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })}\u00a0${unit}`;
}

const FORMATS = {
  count: asCount,
  number: (value) => String(value),
  ns: asTime,
  bytes: asBytes,
  percent: asPercent,
  rate: (value) => scaled(value * 1e9, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"], 1000, 2), /* of GB/s */
};

function asText(value, type) {
  return (FORMATS[type] || String)(value);
}

/* --- a chapter's data: numbers of texts become texts --- */

function readTable(table, texts) {
  const text = (number) => (typeof number === "number" ? texts[number] : "");
  const columns = table.columns.map(([word, title, type]) => ({ word, title, type }));
  const readCell = (cell, column) => {
    if (cell === null || cell === false) return { text: cell === null ? "" : "not recorded", value: null };
    if (Array.isArray(cell)) return { text: asText(cell[1], cell[0]), value: cell[1], type: cell[0] };
    if (column.type === "text" || column.type === "any") return { text: texts[cell], value: null };
    return { text: asText(cell, column.type), value: cell };
  };
  const readRow = (row) => row.map((cell, i) => readCell(cell, columns[i]));
  return {
    word: text(table.word),
    title: text(table.title),
    missing: text(table.missing),
    none: text(table.none),
    total: table.rows,
    listing: table.listing,
    recorded: table.recorded,
    columns,
    rows: table.cells.map(readRow),
    sums: table.sums ? readRow(table.sums) : null,
  };
}

function readChapter(element, number) {
  const chapter = JSON.parse(element.textContent);
  const texts = chapter.strings;
  const tables = chapter.tables.map((table) => readTable(table, texts));
  const files = (side) => (chapter[side] || []).map((number) => texts[number]);
  return Object.assign(chapter, {
    id: `t${number}`,
    texts,
    isDiff: Boolean(chapter.before),
    isJob: !chapter.before && !chapter.use,
    trace: chapter.before ? diffName(files("before"), files("after")) : texts[chapter.trace],
    before: files("before"),
    after: files("after"),
    lines: (chapter.lines || []).map((number) => texts[number]),
    version: texts[chapter.version],
    headline: texts[chapter.headline],
    missing: texts[chapter.not_recorded],
    tables,
    table: (word) => tables.find((table) => table.word === word),
  });
}

/* Row ROW of TABLE as an object of cells by their columns' words. */
function named(table, row) {
  const cells = {};
  table.columns.forEach((column, i) => (cells[column.word] = row[i]));
  return cells;
}

/* --- what is pointed at --- */

const tip = document.getElementById("tip");

function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(x + 14, window.innerWidth - box.width - 8);
  const top = y + 18 + box.height > window.innerHeight ? y - box.height - 10 : y + 18;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${Math.max(8, top)}px`;
}

function hideTip() {
  tip.hidden = true;
}

document.addEventListener("scroll", hideTip, { passive: true });
document.addEventListener("keydown", (event) => event.key === "Escape" && hideTip());

/* --- light and dark --- */

function initTheme() {
  const button = document.getElementById("theme");
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (prefersDark.matches ? "dark" : "light")) === "dark";
  const update = () => button.setAttribute("aria-pressed", String(isDark()));
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    update();
  });
  prefersDark.addEventListener("change", update);
  update();
}
