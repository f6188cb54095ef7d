
/* --- ranks × steps: a box for each, darker where a figure is larger --- */

const HEAT_LEAST = 0.12; /* opacity of the box of the least value */
const LATE_MARK = "▶";

function heatRow(heat, row) {
  const first = heat.ranks[row];
  const last = row + 1 < heat.ranks.length ? heat.ranks[row + 1] - 1 : null;
  if (heat.per_row === 1) return `rank ${first}`;
  return last === null ? `ranks from ${first}` : `ranks ${first} to ${last}`;
}

function heatColumn(heat, column) {
  const first = column * heat.per_column + 1;
  const last = Math.min(heat.steps, first + heat.per_column - 1);
  return first === last ? `step ${first}` : `steps ${first} to ${last}`;
}

/* What the shades of FIGURE go from and to: from its least value, or so far below the largest that noise stays pale. */
function heatRange(figure) {
  const high = figure.cells.reduce((most, cell) => Math.max(most, cell), 0);
  return { low: figure.cells.reduce((least, cell) => (cell < 0 ? least : Math.min(least, cell)), 0.8 * high), high };
}

const heatShade = (value, { low, high }) => HEAT_LEAST + (1 - HEAT_LEAST) * (high > low ? (value - low) / (high - low) : 0);

function heatLegend(figure) {
  const range = heatRange(figure);
  const at = (part) => range.low + part * (range.high - range.low);
  return html("ul", { class: "legend" }, [0, 0.25, 0.5, 0.75, 1].map((part) => html("li", {},
    svg("svg", { viewBox: "0 0 22 12", "aria-hidden": "true" },
      svg("rect", { class: "heat", "fill-opacity": heatShade(at(part), range), width: 22, height: 12, rx: 2 })),
    asTime(at(part) * figure.unit))), html("li", { class: "late" }, LATE_MARK, " others wait for this rank"));
}

function describeHeat(chapter, heat, figure, i) {
  const row = Math.floor(i / heat.columns);
  const value = figure.cells[i];
  const late = heat.late.filter((one) => one.row === row).map((one) => chapter.texts[one.text]);
  const most = heat.per_row > 1 ? ", of the rank with most" : "";
  const what = value < 0 ? "no step" : `${figure.name}: ${asTime(value * figure.unit)}${heat.per_column > 1 ? " on average" : ""}${most}`;
  return [`${heatRow(heat, row)}, ${heatColumn(heat, i % heat.columns)}`, what, ...late].join("\n");
}

/* The map of FIGURE, WHOLE wide. */
function drawHeat(chapter, heat, figure, whole) {
  const x = 64;
  const step = (whole - x) / heat.columns;
  const pitch = Math.max(5, Math.min(24, 480 / heat.ranks.length));
  const every = Math.ceil(14 / pitch);
  const bottom = heat.ranks.length * pitch;
  const axis = (text, y) => svg("text", { class: "axis", x: x - 6, y, "text-anchor": "end" }, text);
  const range = heatRange(figure);
  const late = new Set(heat.late.map((one) => one.row));
  const body = svg("g", {});
  const shapes = figure.cells.map((value, i) => {
    const row = Math.floor(i / heat.columns);
    return svg("rect", { class: value < 0 ? "track" : "heat", "fill-opacity": value < 0 ? null : heatShade(value, range).toFixed(3),
      x: (x + (i % heat.columns) * step).toFixed(2), y: row * pitch, width: step.toFixed(2), height: pitch });
  });
  body.append(...shapes);
  heat.ranks.forEach((rank, row) => {
    const isLate = late.has(row);
    const isNamed = row % every === 0 && ![...late].some((other) => other !== row && Math.abs(other - row) < every);
    if (isLate || isNamed)
      body.append(svg("text", { class: isLate ? "strong late" : null, x: x - 6, y: row * pitch + pitch / 2 + 4, "text-anchor": "end" },
        isLate ? `${rank} ${LATE_MARK}` : rank));
  });
  const ticks = Math.max(1, Math.ceil(60 / step));
  for (let column = 0; column < heat.columns; column += ticks)
    body.append(svg("text", { x: x + (column + 0.5) * step, y: bottom + 16, "text-anchor": "middle" }, column * heat.per_column + 1));
  body.append(axis("rank", -6), axis("step", bottom + 16));
  const root = svg("svg", { viewBox: `0 -18 ${whole} ${bottom + 40}`, role: "group", tabindex: 0, class: "heatmap",
    "aria-label": `${figure.name} of ${heat.ranks.length} rows of ranks in ${heat.columns} columns of steps, ${asTime(range.low * figure.unit)} to ` +
      `${asTime(range.high * figure.unit)}. Arrow keys read the values.` }, body);
  pickable(root, shapes, (i) => describeHeat(chapter, heat, figure, i), (i, key) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -heat.columns, ArrowDown: heat.columns }[key];
    return by === undefined ? NaN : i < 0 ? 0 : i + by;
  });
  return root;
}

function heatChart(chapter) {
  const heat = chapter.heat;
  const figures = heat.figures.map((figure) => Object.assign({}, figure, { name: chapter.texts[figure.name] }));
  const place = html("div", {});
  const show = (number) => {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === number)));
    place.replaceChildren(heatLegend(figures[number]), responsive((width) => drawHeat(chapter, heat, figures[number], width)));
  };
  const buttons = figures.map((figure, i) => html("button", { type: "button", click: () => show(i) }, figure.name));
  const rows = heat.per_row > 1 ? ` A row has ${heat.per_row} ranks and shows the one with most.` : "";
  const columns = heat.per_column > 1 ? ` A column is the average of ${heat.per_column} steps.` : "";
  show(0);
  return html("figure", {}, html("figcaption", {}, `Ranks from top to bottom, their steps from left to right.${rows}${columns}`),
    html("div", { class: "tools", role: "group", "aria-label": "Figure of the map" }, buttons), place);
}
