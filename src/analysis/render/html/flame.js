
/* --- GPU time by what launched it: nodes below the nodes that they are part of, as wide as their GPU time --- */

const ROW = 21;

function readFlame(chapter) {
  const root = { name: "all GPUs", kind: "GPU", time: 0, count: 0, inner: [], depth: -1, parent: null };
  const nodes = chapter.flame.map(([parent, kind, name, time, count]) => ({
    name: chapter.texts[name], kind: chapter.texts[kind], time, count, inner: [], parent, depth: 0,
  }));
  for (const node of nodes) {
    node.parent = node.parent < 0 ? root : nodes[node.parent];
    node.parent.inner.push(node);
    node.depth = node.parent.depth + 1;
  }
  for (const node of [root, ...nodes]) node.inner.sort((a, b) => b.time - a.time);
  root.time = root.inner.reduce((sum, node) => sum + node.time, 0);
  return root;
}

function flameText(node, whole) {
  const launches = node.count ? `, ${asCount(node.count)} operations` : "";
  return `${node.name}\n${node.kind}: ${asTime(node.time)} of GPU time, ${asPercent((100 * node.time) / whole)}${launches}`;
}

function flameChart(chapter) {
  const top = readFlame(chapter);
  const path = html("p", { class: "small muted", "aria-live": "polite" });
  let base = top;
  const enter = (node) => {
    base = node;
    box.redraw();
    box.firstChild.focus();
  };
  const reset = html("button", { type: "button", click: () => enter(top) }, "Show all");
  const box = responsive((width) => {
    const around = [];
    for (let node = base; node !== top && node; node = node.parent) around.unshift(node.name);
    path.textContent = around.length ? `Shown: ${around.map((name) => shortened(name, 50)).join(" › ")}` : "All GPU time is shown.";
    reset.hidden = base === top;
    return drawFlame(base, top, width, (node) => enter(node === base ? node.parent || top : node));
  });
  const kinds = [...new Set(chapter.flame.map((node) => chapter.texts[node[1]]))];
  return html("figure", {},
    html("figcaption", {}, "Each box is a range, operator, call or kernel, as wide as the GPU time that it launched, below what it was launched in. A click, or Enter, enlarges one; parts below 0.1 % are left out."),
    html("ul", { class: "legend" }, kinds.map((kind) => html("li", {},
      svg("svg", { viewBox: "0 0 22 12", "aria-hidden": "true" }, svg("rect", { class: kindClass(kind), width: 22, height: 12, rx: 2 })), kind))),
    html("div", { class: "tools" }, reset), path, box);
}

const kindClass = (kind) => `kind-${kind.split(" ")[0]}`;

/* BASE as wide as the chart, what is around it above, and all that is in it. */
function drawFlame(base, top, width, enter) {
  const shapes = [];
  const shown = [];
  const body = svg("g", { class: "flame" });
  let depth = 0;
  const put = (node, x, extent) => {
    const row = node.depth;
    depth = Math.max(depth, row);
    const shape = svg("rect", { class: kindClass(node.kind), x, y: row * ROW, width: extent, height: ROW, rx: 2 });
    shapes.push(shape);
    shown.push(node);
    body.append(shape);
    if (extent > 34)
      body.append(svg("text", { class: "on", x: x + 5, y: row * ROW + 15 }, shortened(node.name, (extent - 8) / 8)));
  };
  for (let node = base; node !== top; node = node.parent) if (node !== base) put(node, 0, width);
  const putAll = (node, x, extent) => {
    if (extent < 0.6) return;
    if (node !== top) put(node, x, extent);
    for (const inner of node.inner) {
      const part = node.time ? (inner.time / node.time) * extent : 0;
      putAll(inner, x, part);
      x += part;
    }
  };
  putAll(base, 0, width);
  const bottom = (depth + 1) * ROW;
  const root = svg("svg", { viewBox: `0 0 ${width} ${bottom + 22}`, role: "group", tabindex: 0,
    "aria-label": `GPU time by what launched it, ${shown.length} boxes. Arrow keys move between them, Enter enlarges one, Escape shows all.` }, body, timeAxis(0, base.time, 0, width, bottom, 0));
  const number = new Map(shown.map((node, i) => [node, i]));
  const beside = (node, step) => {
    const list = node.parent ? node.parent.inner : [];
    return list[list.indexOf(node) + step];
  };
  let chosen = -1;
  pickable(root, shapes, (i) => {
    chosen = i;
    return flameText(shown[i], top.time);
  }, (i, key) => {
    if (i < 0) return key.startsWith("Arrow") ? number.get(base === top ? top.inner[0] : base) : NaN;
    const node = shown[i];
    const to = { ArrowDown: node.inner[0], ArrowUp: node.parent, ArrowLeft: beside(node, -1), ArrowRight: beside(node, 1) }[key];
    return to === undefined ? NaN : number.get(to);
  });
  root.addEventListener("click", (event) => {
    const i = shapes.indexOf(event.target);
    if (i >= 0) enter(shown[i]);
  });
  root.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && chosen >= 0) enter(shown[chosen]);
    if (event.key === "Escape" && base !== top) enter(top);
  });
  return root;
}
