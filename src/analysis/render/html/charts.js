
/* --- charts: each is drawn for the width that it has, and again when that changes --- */

function responsive(draw) {
  const box = html("div", {});
  let width = 0;
  const update = () => {
    const now = Math.round(box.clientWidth);
    if (now < 1 || now === width) return;
    width = now;
    const focused = box.contains(document.activeElement);
    box.replaceChildren(draw(width));
    if (focused) box.firstChild.focus();
  };
  box.redraw = () => {
    width = 0;
    update();
  };
  new ResizeObserver(() => requestAnimationFrame(update)).observe(box);
  return box;
}

/* Round steps for COUNT ticks or so of a scale up to SPAN. */
function tickStep(span, count) {
  const rough = span / count;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
}

/* The axis of times from FROM to TO (ns), below Y, between X and X + WIDTH; lines go up by HEIGHT. */
function timeAxis(from, to, x, width, y, height) {
  const group = svg("g", { class: "axis", "aria-hidden": "true" });
  const span = Math.max(1, to - from);
  const step = tickStep(span, Math.max(2, width / 110));
  for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
    const at = x + ((time - from) / span) * width;
    const isLast = at > x + width - 25;
    group.append(
      svg("line", { class: "grid", x1: at, x2: at, y1: y - height, y2: y + 4 }),
      svg("text", { x: isLast ? x + width : at, y: y + 17, "text-anchor": isLast ? "end" : at < x + 12 ? "start" : "middle" }, asTick(time, to, step))
    );
  }
  return group;
}

/* The axis of values from 0 to what MOST says, left of X, from Y up by HEIGHT. */
const valueAxis = (most, x, y, height) => [[most, y - height + 9], ["0", y]].map(([text, at]) =>
  svg("text", { class: "axis", x: x - 6, y: at, "text-anchor": "end", "aria-hidden": "true" }, text));

/* What USE is, besides its colour: communication is hatched, copies are dotted. */
const USES = ["computing", "communicating, not computing", "copying only"];
let inkCount = 0;

function inks() {
  const id = `ink${inkCount++}`;
  const defs = svg("defs", {},
    svg("pattern", { id: `${id}-1`, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
      svg("path", { class: "ink", d: "M0 6L6 0" })),
    svg("pattern", { id: `${id}-2`, width: 5, height: 5, patternUnits: "userSpaceOnUse" },
      svg("g", { class: "ink" }, svg("circle", { cx: 2.5, cy: 2.5, r: 1.1 }))));
  return { defs, of: (use) => (use === 1 || use === 2 ? `url(#${id}-${use})` : null) };
}

function legend(uses, words) {
  return html("ul", { class: "legend" }, uses.map((use) => {
    const ink = inks();
    return html("li", {},
      svg("svg", { viewBox: "0 0 22 12", "aria-hidden": "true" }, ink.defs,
        svg("rect", { class: `use${use}`, width: 22, height: 12, rx: 2 }),
        ink.of(use) ? svg("rect", { fill: ink.of(use), width: 22, height: 12 }) : null),
      words[use]);
  }));
}

/* --- what GPUs and streams did over time --- */

/* The area below the values (thousandths), in buckets from X on. */
function area(values, x, step, y, height) {
  let path = `M${x} ${y}`;
  values.forEach((value, i) => {
    const top = (y - (Math.min(value, 1000) / 1000) * height).toFixed(1);
    path += `L${(x + i * step).toFixed(1)} ${top}L${(x + (i + 1) * step).toFixed(1)} ${top}`;
  });
  return `${path}L${(x + values.length * step).toFixed(1)} ${y}Z`;
}

const average = (values) => (values ? values.reduce((sum, value) => sum + value, 0) / values.length / 10 : 0);

/* From the top: what is busy is drawn as copies, and what computes or communicates over it. */
function drawUse(group, line, ink, x, step, y, height) {
  for (const use of [2, 1, 0]) {
    const values = line.busy[use];
    if (!values || (use > 0 && line.busy[use - 1] && values.every((value, i) => value === line.busy[use - 1][i]))) continue;
    const d = area(values, x, step, y, height);
    group.append(svg("path", { class: `use${use}`, d }));
    if (ink.of(use) && height > 30) group.append(svg("path", { fill: ink.of(use), d }));
  }
}

const lineName = (line) => (line.stream === undefined ? `GPU ${line.gpu}` : `stream ${line.stream}`);

/* How the lines lie below one another: below each GPU its streams, the busiest first. */
function placeLines(lines) {
  const isStream = (line) => (line.stream === undefined ? 0 : 1);
  let y = 4;
  return [...lines].sort((a, b) => a.gpu - b.gpu || isStream(a) - isStream(b) || average(b.busy[2]) - average(a.busy[2])).map((line) => {
    const isGpu = line.stream === undefined;
    y += isGpu ? 22 : 6;
    const height = isGpu ? 96 : 20;
    y += height;
    return { line, height, y };
  });
}

function describeBucket(use, bucket) {
  const start = asTime(bucket * use.bucket);
  const lines = use.lines.filter((line) => line.busy.some(Boolean)).slice(0, 12).map((line) => {
    const share = (level) => (line.busy[level] ? line.busy[level][bucket] / 10 : 0);
    const parts = [share(0), share(1) - share(0), share(2) - share(1)];
    const words = parts.map((part, i) => (part > 0.05 ? `${part.toFixed(0)} % ${USES[i]}` : "")).filter(Boolean);
    return `${lineName(line)}: ${words.join(", ") || "idle"}`;
  });
  return `${start} to ${asTime((bucket + 1) * use.bucket)}\n${lines.join("\n")}`;
}

/* Numbers of findings above the first line, each at its moment. */
function flags(chapter, x, width) {
  let last = -Infinity;
  const places = chapter.windows.map((moment, i) => ({ moment, number: i + 1 })).filter(({ moment }) => moment);
  places.sort((a, b) => a.moment.at - b.moment.at);
  return places.map(({ moment, number }) => {
    const at = Math.max(last + 20, x + (moment.at / Math.max(1, chapter.span)) * width);
    last = at;
    return svg("a", { href: `#${chapter.id}-finding-${number}`, "aria-label": `Finding ${number}, at ${asTime(moment.at)}` },
      svg("g", { class: "flag" }, svg("circle", { cx: at, cy: 10, r: 8.5 }),
        svg("text", { x: at, y: 14, "text-anchor": "middle" }, number)));
  });
}

function useChart(chapter) {
  const use = chapter.use;
  const places = placeLines(use.lines);
  const draw = (whole) => {
    const x = 100;
    const width = whole - x - 4;
    const step = width / use.count;
    const bottom = places[places.length - 1].y;
    const ink = inks();
    const cursor = svg("line", { class: "cursor", y1: 20, y2: bottom, visibility: "hidden" });
    const body = svg("g", {});
    for (const { line, height, y } of places) {
      body.append(svg("rect", { class: "track", x, y: y - height, width, height }));
      drawUse(body, line, ink, x, step, y, height);
      body.append(svg("text", { class: "strong", x: 0, y: height > 30 ? y - height + 12 : y - 5 }, lineName(line)));
      if (height > 30) body.append(svg("text", { x: 0, y: y - height + 28 }, `${average(line.busy[2]).toFixed(1)} %`), ...valueAxis("100 %", x, y, height));
    }
    const summary = use.lines.map((line) => `${lineName(line)} is busy ${average(line.busy[2]).toFixed(1)} % of the time`).join(", ");
    const root = svg("svg", { viewBox: `0 0 ${whole} ${bottom + 24}`, role: "group", tabindex: 0,
      "aria-label": `Use over time: ${summary}. Left and right arrow keys read the values.` },
      ink.defs, timeAxis(0, use.count * use.bucket, x, width, bottom, bottom - 22), body, cursor, flags(chapter, x, width));
    let bucket = 0;
    const show = (number, left, top) => {
      bucket = Math.max(0, Math.min(use.count - 1, number));
      const at = x + (bucket + 0.5) * step;
      cursor.setAttribute("x1", at);
      cursor.setAttribute("x2", at);
      cursor.setAttribute("visibility", "visible");
      const box = root.getBoundingClientRect();
      showTip(describeBucket(use, bucket), left === undefined ? box.left + at : left, top === undefined ? box.top + 30 : top);
    };
    const hide = () => {
      cursor.setAttribute("visibility", "hidden");
      hideTip();
    };
    root.addEventListener("pointermove", (event) => {
      const at = event.clientX - root.getBoundingClientRect().left - x;
      if (at >= 0) show(Math.floor(at / step), event.clientX, event.clientY);
    });
    root.addEventListener("pointerleave", hide);
    root.addEventListener("blur", hide);
    root.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -use.count, End: use.count }[event.key];
      if (move === undefined || event.target !== root) return;
      event.preventDefault();
      show(bucket + move);
    });
    return root;
  };
  const uses = [0, 1, 2].filter((level) => use.lines.some((line) => line.busy[level] && (level === 0 ||
    line.busy[level].some((value, i) => value > (line.busy[level - 1] ? line.busy[level - 1][i] : 0)))));
  return html("figure", {},
    html("figcaption", {}, `The share of time that each GPU and stream is busy, in ${use.count} parts of ${asTime(use.bucket)}.`,
      chapter.windows.some(Boolean) ? " Numbers mark the findings." : ""),
    legend(uses, USES), responsive(draw));
}

/* --- the moment of a finding --- */

const OP_WORDS = ["kernel", "communication", "copy or set", "call"];

function opText(chapter, op) {
  const name = chapter.texts[op[2]] || "(unnamed)";
  return op[4] > 1 ? `${op[4]} operations, the longest: ${name}` : name;
}

function momentChart(chapter, moment) {
  const rows = moment.rows;
  const span = Math.max(1, moment.to - moment.from);
  const rowName = (row) => (row.thread === undefined ? `GPU ${row.gpu} stream ${row.stream}` : chapter.texts[row.thread]);
  const all = rows.flatMap((row) => row.ops.map((op) => ({ row, op })));
  const uses = [...new Set(all.map(({ row, op }) => (row.thread === undefined ? op[3] : 3)))].sort();
  const draw = (whole) => {
    const isNarrow = whole < 560;
    const x = isNarrow ? 0 : 150;
    const width = whole - x - 2;
    const pitch = isNarrow ? 40 : 28;
    const bottom = rows.length * pitch + 2;
    const ink = inks();
    const left = (time) => x + (time / span) * width;
    const body = svg("g", {});
    const band = Math.max(2, left(moment.until - moment.from) - left(moment.at - moment.from));
    body.append(svg("rect", { class: "moment", x: left(moment.at - moment.from), y: 0, width: band, height: bottom }));
    const shapes = [];
    rows.forEach((row, i) => {
      const y = i * pitch + (isNarrow ? 18 : 4);
      body.append(svg("text", { class: "strong", x: 0, y: isNarrow ? y - 5 : y + 14 }, shortened(rowName(row), isNarrow ? 60 : 21)));
      body.append(svg("line", { class: "grid", x1: x, x2: x + width, y1: y + 20, y2: y + 20 }));
      for (const op of row.ops) {
        const use = row.thread === undefined ? op[3] : 3;
        const box = { x: left(op[0]), y, width: Math.max(1, (op[1] / span) * width - 0.5), height: 20 };
        const shape = svg("rect", Object.assign({ class: `use${use}` }, box));
        shapes.push(shape);
        body.append(shape);
        if (ink.of(use) && box.width > 5) /* below the name */
          body.append(svg("rect", { fill: ink.of(use), "pointer-events": "none", x: box.x, y: y + 14, width: box.width, height: 6 }));
        if (box.width > 46)
          body.append(svg("text", { class: "on", x: box.x + 5, y: y + 13, "pointer-events": "none" }, shortened(chapter.texts[op[2]], (box.width - 8) / 8)));
      }
    });
    if (moment.until === moment.at) /* nothing shows it below an operation */
      body.append(svg("line", { class: "cursor", x1: left(moment.at - moment.from), x2: left(moment.at - moment.from), y1: 0, y2: bottom, "pointer-events": "none" }));
    const root = svg("svg", { viewBox: `0 0 ${whole} ${bottom + 22}`, role: "group", tabindex: 0,
      "aria-label": `Timeline from ${asTime(moment.from)} to ${asTime(moment.to)}, ${all.length} operations and calls. Left and right arrow keys read them.` },
      ink.defs, body, timeAxis(moment.from, moment.to, x, width, bottom, 0));
    pickable(root, shapes, (i) => {
      const { row, op } = all[i];
      const use = row.thread === undefined ? op[3] : 3;
      return `${opText(chapter, op)}\n${OP_WORDS[use]}, ${rowName(row)}\nat ${asTime(moment.from + op[0])}, ${asTime(op[1])}`;
    });
    return root;
  };
  const words = ["kernels", "communication", "copies and sets", "API calls of the thread"];
  return html("figure", {}, legend(uses, words), responsive(draw),
    html("figcaption", { class: "small" }, `${asTime(span)} around the moment, which is marked.`));
}

function shortened(text, most) {
  return text.length > most ? `${text.slice(0, Math.max(1, Math.floor(most) - 1))}…` : text;
}

/* SHAPES of ROOT can be pointed at, or chosen with arrow keys; DESCRIBE(i) is what is shown of each. MOVE(i, key) says
 * where else a key leads. */
function pickable(root, shapes, describe, move) {
  let chosen = -1;
  const numbers = new Map(shapes.map((shape, i) => [shape, i]));
  const choose = (i, x, y) => {
    if (chosen >= 0) shapes[chosen].classList.remove("chosen");
    chosen = i;
    if (i < 0) return hideTip();
    shapes[i].classList.add("chosen");
    const box = shapes[i].getBoundingClientRect();
    return showTip(describe(i), x === undefined ? box.left : x, y === undefined ? box.bottom : y);
  };
  const next = move || ((i, key) => i + ({ ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[key] || NaN));
  root.addEventListener("pointermove", (event) => {
    const i = numbers.get(event.target);
    choose(i === undefined ? -1 : i, event.clientX, event.clientY);
  });
  root.addEventListener("pointerleave", () => choose(-1));
  root.addEventListener("blur", () => choose(-1));
  root.addEventListener("keydown", (event) => {
    const i = next(chosen, event.key);
    if (!(i >= 0 && i < shapes.length)) return;
    event.preventDefault();
    choose(i);
  });
}

/* --- kernels, memory --- */

function meter(percent, gain) {
  const part = (value, name) => {
    const bar = html("i", { class: name });
    bar.style.width = `${Math.max(0, Math.min(100, value))}%`;
    return bar;
  };
  return html("span", { class: "meter", "aria-hidden": "true" }, part(percent), gain ? part(gain, "gain") : null);
}

function histogram(kernel) {
  const most = Math.max(...kernel.bins);
  const width = 240 / kernel.bins.length;
  const same = kernel.low === kernel.high;
  return svg("svg", { viewBox: "0 0 240 56", role: "img",
    "aria-label": `Durations from ${asTime(kernel.low)} to ${asTime(kernel.high)}, of at most ${launches(most)} each` },
    svg("line", { class: "grid", x1: 0, x2: 240, y1: 55.5, y2: 55.5 }),
    svg("line", { class: "grid", x1: 0, x2: 240, y1: 2.5, y2: 2.5 }),
    kernel.bins.map((count, i) => {
      const height = count ? Math.max(2, (count / most) * 52) : 0;
      const x = same ? 116 : i * width;
      return count ? svg("rect", { class: "use0", x, y: 55 - height, width: width - 0.8, height }) : null;
    }));
}

const launches = (count) => `${asCount(count)} ${count === 1 ? "launch" : "launches"}`;

const KERNELS_FIRST = 6;

function kernelCharts(chapter) {
  const total = chapter.kernels.reduce((sum, kernel) => sum + kernel.total, 0);
  const list = chapter.kernels.map((kernel) => {
    const name = chapter.texts[kernel.name];
    return html("li", {}, html("p", { class: "name", title: name }, name),
      html("p", { class: "small muted" }, `${asTime(kernel.total)} · ${launches(kernel.count)}`),
      html("p", { class: "ends axis" }, `up to ${launches(Math.max(...kernel.bins))}`),
      histogram(kernel),
      html("p", { class: "ends axis" }, html("span", {}, asTime(kernel.low)),
        kernel.low === kernel.high ? null : html("span", {}, asTime(kernel.high))));
  });
  const more = list.slice(KERNELS_FIRST);
  return total === 0 ? null : html("figure", {},
    html("figcaption", {}, "Durations of the kernels with most time, on a logarithmic scale from the shortest to the longest launch."),
    html("ul", { class: "small-charts" }, list.slice(0, KERNELS_FIRST)),
    more.length ? html("details", {}, html("summary", {}, `${more.length} more`), html("ul", { class: "small-charts" }, more)) : null);
}

function memoryChart(chapter, memory) {
  const peak = Math.max(memory.peak, 1);
  const draw = (whole) => {
    const [x, y] = [70, 74];
    const at = (time) => x + (Math.max(0, Math.min(time, chapter.span)) / Math.max(1, chapter.span)) * (whole - x);
    const level = (bytes) => (y - (Math.max(0, bytes) / peak) * 66).toFixed(1);
    let path = `M${x} ${y}`;
    for (const [time, most, end] of memory.points) path += `H${at(time).toFixed(1)}V${level(most)}V${level(end)}`;
    return svg("svg", { viewBox: `0 0 ${whole} ${y + 22}`, role: "img",
      "aria-label": `${chapter.texts[memory.name]}: ${asBytes(memory.peak)} at the peak` },
      valueAxis(asBytes(memory.peak), x, y, 66), timeAxis(0, chapter.span, x, whole - x, y, y - 6), svg("path", { class: "level", d: `${path}H${whole}V${y}Z` }));
  };
  return html("figure", {}, html("figcaption", {}, html("b", {}, chapter.texts[memory.name]), `, ${asBytes(memory.peak)} at the peak`),
    responsive(draw));
}

function memoryCharts(chapter) {
  return [...chapter.memory].filter((memory) => memory.peak > 0).sort((a, b) => b.peak - a.peak).slice(0, 8)
    .map((memory) => memoryChart(chapter, memory));
}

/* --- a comparison --- */

const PARTS_FIRST = 12;

/* TEXT without its middle, of MOST characters. */
function endsOf(text, most) {
  const tail = Math.floor(most / 2.5);
  return text.length > most ? `${text.slice(0, most - tail - 1)}…${text.slice(-tail)}` : text;
}

/* The parts that add up to the difference of the whole, the largest first: to the right what makes the run longer. */
function differenceBars(table) {
  const parts = table.rows.slice(0, PARTS_FIRST).map((row) => named(table, row))
    .map((cells) => ({ kind: cells.kind.text, name: cells.name.text, ns: cells.difference.value }));
  const whole = named(table, table.sums).difference.value;
  const others = table.total - parts.length;
  if (others > 0) parts.push({ kind: "", name: `${asCount(others)} other ${others === 1 ? "part" : "parts"}`, ns: whole - parts.reduce((sum, part) => sum + part.ns, 0) });
  parts.push({ kind: "", name: "the run", ns: whole, isWhole: true });
  const names = new Set(parts.map((part) => part.name));
  let most = 48;
  while (most < 1000 && new Set([...names].map((name) => endsOf(name, most))).size < names.size) most += 24;
  const largest = Math.max(...parts.map((part) => Math.abs(part.ns)), 1);
  return html("figure", {}, html("figcaption", {}, "The parts add up to the difference of the run. To the left is what makes the run shorter, to the right what makes it longer."),
    html("div", { class: "bars difference" }, parts.map(({ kind, name, ns, isWhole }) => {
      const word = ns > 0 ? "longer" : ns < 0 ? "shorter" : "the same";
      const bar = html("i", { class: word });
      bar.style.width = `${(50 * Math.abs(ns)) / largest}%`;
      return html("div", { class: isWhole ? "whole" : null },
        html("span", { title: name, class: /\S{24}/.test(name) ? "long" : null }, html("span", { class: "muted" }, kind, kind && name ? " " : ""), endsOf(name, most)),
        html("span", { class: "diverge", "aria-hidden": "true" }, bar),
        html("span", { class: "value" }, `${ns > 0 ? "+" : ""}${asTime(ns)}`, " ", word));
    }), html("div", { "aria-hidden": "true" }, html("span", {}), html("span", { class: "ends axis" },
      [`-${asTime(largest)}`, "0", `+${asTime(largest)}`].map((text) => html("span", {}, text))))));
}
