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

function digits(value) {
  const size = Math.abs(value);
  return value.toLocaleString("en-US", { maximumFractionDigits: size >= 100 ? 0 : size >= 10 ? 1 : 2 });
}

function scaled(value, units, step) {
  let unit = 0;
  let size = Math.abs(value);
  for (; unit + 1 < units.length && size >= step * 0.9995; unit++) size /= step;
  return `${digits(Math.sign(value) * size)} ${units[unit]}`;
}

const asCount = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 1 });
const asBytes = (value) => scaled(value, ["B", "KiB", "MiB", "GiB", "TiB"], 1024);
const asPercent = (value) => `${value.toFixed(1)} %`;

function asTime(ns) {
  return Math.abs(ns) >= 120e9 ? `${digits(ns / 60e9)} min` : scaled(ns, ["ns", "µs", "ms", "s"], 1000);
}

const FORMATS = {
  count: asCount,
  number: (value) => String(value),
  ns: asTime,
  bytes: asBytes,
  percent: asPercent,
  rate: (value) => `${digits(value)} GB/s`,
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
  return Object.assign(chapter, {
    id: `t${number}`,
    texts,
    trace: texts[chapter.trace],
    version: texts[chapter.version],
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
