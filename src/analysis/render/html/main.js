
/* --- the page: a chapter for each trace, a section for each table and chart --- */

const baseName = (path) => path.split("/").pop() || path;

/* "69.7 ms, 56 % of the run": the sentence has what is shown beside it, too. */
const sentence = (text) => text.replace(/ \([^()]*of the run[^()]*\)$/, "");

function tiles(chapter) {
  const overview = chapter.table("overview");
  const idle = chapter.table("idle");
  const memory = chapter.table("memory");
  const list = [];
  const put = (label, value, percent, detail) => list.push(html("li", {}, html("span", { class: "label" }, label), html("b", {}, value),
    percent === undefined ? null : meter(percent), detail ? html("span", { class: "label" }, detail) : null));
  for (const row of overview ? overview.rows : []) {
    const cells = named(overview, row);
    const name = row[0].text;
    if (chapter.isJob && name === "GPUs busy") put(name, cells.value.text.split(" on ")[0], parseFloat(cells.value.text));
    else if (chapter.isJob && ["Time", "GPUs", "Ranks", "Hosts"].includes(name)) put(name, cells.value.text.split(":")[0]);
    else if (/^GPU \S+ busy$/.test(name) && list.length < 6) put(name, cells.value.text, cells.value.value, cells.detail ? cells.detail.text : "");
    else if (["Time span", "Kernels", "Memory copies"].includes(name)) put(name, cells.value.text);
    else if (/^Lost or doubtful:|^Failed API calls/.test(name) && cells.value.value > 0) put(name, cells.value.text);
  }
  if (idle && idle.rows.length && !chapter.isJob) {
    const cells = named(idle, idle.rows[0]);
    put("Most idle time", asPercent(cells.share.value), cells.share.value, cells.why.text);
  }
  if (memory && memory.rows.length && memory.rows[0] && !chapter.isJob) {
    const cells = named(memory, memory.rows[0]);
    if (cells.peak.value > 0) put(`Memory peak, ${cells.kind.text}`, cells.peak.text);
  }
  return list.length ? html("ul", { class: "tiles" }, list) : null;
}

function facts(overview) {
  return html("dl", { class: "facts" }, overview.rows.map((row) => {
    const cells = named(overview, row);
    const detail = cells.detail && cells.detail.text;
    return html("div", {}, html("dt", {}, row[0].text),
      html("dd", {}, cells.value.text, detail ? html("span", { class: "muted" }, ` ${detail}`) : null));
  }));
}

function finding(chapter, cells, number) {
  const id = `${chapter.id}-finding-${number}`;
  const moment = (chapter.windows || [])[number - 1];
  const more = cells.section && cells.section.text ? chapter.table(cells.section.text) : null;
  const share = cells.share ? cells.share.value : null;
  const gain = cells.gain ? cells.gain.value : null;
  const places = [
    cells.rank && cells.where.text,
    cells.start && cells.start.value !== null ? `at ${cells.start.text}` : "",
    cells.gpu && cells.gpu.text ? `GPU ${cells.gpu.text}` : "",
    cells.stream && cells.stream.text ? `stream ${cells.stream.text}` : "",
    cells.thread && cells.thread.text,
    cells.range && cells.range.text ? `range ${cells.range.text}` : "",
    cells.operator && cells.operator.text ? `operator ${cells.operator.text}` : "",
  ].filter(Boolean);
  return html("li", { id, class: "finding" }, html("span", { class: "number", "aria-hidden": "true" }, number),
    html("div", {}, html("h3", {}, sentence(cells.finding.text)),
      cells.time && cells.time.value > 0 ? [
        html("p", { class: "cost" }, html("span", {}, html("b", {}, cells.time.text), ` · ${asPercent(share)} of the run`),
          gain ? html("span", { class: "muted" }, `up to ${cells.gain.text} can be gained`) : null),
        meter(share)] : null,
      html("p", { class: "advice" }, cells.advice.text),
      html("p", { class: "places" }, html("b", {}, cells.id.text), places.map((place) => html("span", {}, place)),
        more && isShown(more) ? html("a", { href: `#${chapter.id}-${more.word}` }, `More: ${more.title}`) : null),
      moment && moment.rows.length ? momentChart(chapter, moment) : null));
}

function findings(chapter, table) {
  if (!table.rows.length) return html("p", { class: "calm" }, table.none || "Nothing was found.");
  let number = 0;
  return html("ol", { class: "findings" }, table.rows.map((row) => {
    const cells = named(table, row);
    return cells.id && cells.id.text === "not-checked"
      ? html("li", { class: "calm" }, html("p", {}, cells.finding.text), html("p", { class: "muted small" }, cells.advice.text))
      : finding(chapter, cells, ++number);
  }));
}

const isShown = (table) => table.recorded && (table.rows.length > 0 || table.word === "findings");

/* A comparison is named after its two files, or how many there are. */
function diffName(before, after) {
  const several = `${before.length} ${before.length === 1 ? "trace" : "traces"} before, ${after.length} after`;
  return before.length + after.length > 2 ? several : `${baseName(before[0])} → ${baseName(after[0])}`;
}

/* What a comparison says in sentences, and its files. */
function verdict(chapter) {
  const side = (word, files) => html("div", {}, html("dt", {}, word), html("dd", {}, files.map((file) => html("span", {}, file))));
  return [chapter.lines.map((line, i) => html("p", { class: i === 0 ? "lead" : "line" }, line)),
    html("dl", { class: "facts files" }, side("Before", chapter.before), side("After", chapter.after))];
}

/* What is drawn in the section of a table, above it. */
const CHARTS = {
  kernels: (chapter) => kernelCharts(chapter),
  memory: (chapter) => memoryCharts(chapter),
};

const DIFF_CHARTS = { parts: (chapter, table) => differenceBars(table) };

/* What comes first, as on the first screen of the report in a terminal, with the charts about the same. */
const FIRST = ["findings", "time", "kernels", "heat", "ranks", "use", "flame", "overview"];

/* The parts of a chapter, in order: [word, title, content]. A comparison has tables alone, which come out as any other,
 * and its own charts: the rows of its tables are changes. Those of a job are sums over ranks and have no charts. */
function parts(chapter) {
  const list = [];
  const shown = chapter.tables.filter(chapter.isDiff ? (table) => table.rows.length > 0 : isShown);
  const charts = chapter.isDiff ? DIFF_CHARTS : chapter.isJob ? {} : CHARTS;
  for (const table of shown) {
    if (table.word === "findings" && !chapter.isDiff) list.push([table.word, table.title, findings(chapter, table)]);
    else if (table.word === "overview") list.push([table.word, table.title, facts(table)]);
    else list.push([table.word, table.title, [charts[table.word] ? charts[table.word](chapter, table) : null, tableView(table), missing(table)]]);
  }
  if (chapter.flame && chapter.flame.length) list.push(["flame", "GPU time by what launched it", flameChart(chapter)]);
  if (chapter.use && chapter.use.lines.length) list.push(["use", "Use of GPUs over time", useChart(chapter)]);
  if (chapter.heat && chapter.heat.figures.length) list.push(["heat", "Steps of all ranks", heatChart(chapter)]);
  const place = ([word]) => (FIRST.includes(word) && !chapter.isDiff ? FIRST.indexOf(word) : FIRST.length);
  return list.sort((a, b) => place(a) - place(b));
}

function missing(table) {
  return table.missing ? html("p", { class: "muted small" }, `Not recorded: ${table.missing}.`) : null;
}

/* The sections that have nothing to show, in a sentence each. */
function rest(chapter) {
  const names = (tables) => tables.map((table) => table.title).join(", ");
  const empty = chapter.tables.filter((table) => table.recorded && (chapter.isDiff ? table.rows.length === 0 : !isShown(table)));
  const unrecorded = chapter.tables.filter((table) => !table.recorded);
  return [empty.length ? html("p", { class: "muted small" }, `${chapter.isDiff ? "No change" : chapter.isJob ? "None in this job" : "None in this trace"}: ${names(empty)}.`) : null,
    unrecorded.length ? html("p", { class: "muted small" }, `Not recorded: ${names(unrecorded)}.`) : null];
}

function showChapter(chapter, main, nav, isAlone) {
  const list = parts(chapter);
  main.append(html("article", { class: chapter.isDiff ? "chapter comparison" : "chapter", id: chapter.id, "aria-label": chapter.trace },
    html("h1", { title: chapter.trace }, baseName(chapter.trace)),
    chapter.headline ? html("p", { class: "lead" }, chapter.headline.replace(`${baseName(chapter.trace)} · `, "")) : null,
    chapter.missing ? html("p", { class: "muted" }, `Not recorded: ${chapter.missing}`) : null,
    chapter.isDiff ? verdict(chapter) : tiles(chapter),
    list.map(([word, title, content]) => html("section", { id: `${chapter.id}-${word}`, "aria-labelledby": `${chapter.id}-${word}-title` },
      html("h2", { id: `${chapter.id}-${word}-title` }, title), content)),
    rest(chapter)));
  nav.append(html("p", { class: isAlone ? "alone" : null }, isAlone ? "Contents" : html("a", { href: `#${chapter.id}` }, baseName(chapter.trace))),
    html("ul", {}, list.map(([word, title]) => html("li", {}, html("a", { href: `#${chapter.id}-${word}` }, title)))));
}

/* The contents mark the section that is read. */
function followSections(nav) {
  const links = new Map([...nav.querySelectorAll("li a")].map((link) => [link.getAttribute("href").slice(1), link]));
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.classList.remove("here");
      links.get(entry.target.id).classList.add("here");
    }
  }, { rootMargin: "-10% 0px -75% 0px" });
  for (const section of document.querySelectorAll("main section")) observer.observe(section);
}

function start() {
  const chapters = [...document.querySelectorAll("script.chapter")].map(readChapter);
  const main = document.getElementById("main");
  const list = html("div", {});
  const command = chapters.length && chapters[0].isDiff ? "diff" : "report";
  document.title = `${chapters.map((chapter) => baseName(chapter.trace)).join(", ")} - gputrace ${command}`;
  document.querySelector(".brand span").textContent = command;
  initTheme();
  for (const chapter of chapters) showChapter(chapter, main, list, chapters.length === 1);
  document.getElementById("nav").append(list);
  if (chapters.length) document.getElementById("foot").textContent = `Made by gputrace ${chapters[0].version} ${command} --html. The page needs no network.`;
  followSections(list);
}

start();
