// ---- axes ----

const ticks = (low, high, n) => {
  const raw = (high - low) / n || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(i * step);
  return found;
};
const short = (value) => {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(0).replace("e+", "e");
  return String(Number(value.toPrecision(4)));
};
const frame = (parent, { width, height, x, y, xTitle, yTitle, label, xTicks = null, logX = false, margin = {} }) => {
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, parent);
  const m = { left: 58, right: 14, top: 12, bottom: 44, ...margin };
  const at = logX ? Math.log10 : (v) => v;
  const sx = (v) => m.left + ((at(v) - at(x[0])) / (at(x[1]) - at(x[0]) || 1)) * (width - m.left - m.right);
  const sy = (v) => height - m.bottom - ((v - y[0]) / (y[1] - y[0] || 1)) * (height - m.top - m.bottom);
  for (const t of xTicks || ticks(x[0], x[1], Math.max(3, width / 90))) {
    svg("line", { class: "gridline", x1: sx(t), x2: sx(t), y1: m.top, y2: height - m.bottom }, root);
    svg("text", { x: sx(t), y: height - m.bottom + 17, "text-anchor": "middle" }, root, short(t));
  }
  for (const t of ticks(y[0], y[1], Math.max(3, height / 70))) {
    svg("line", { class: "gridline", x1: m.left, x2: width - m.right, y1: sy(t), y2: sy(t) }, root);
    svg("text", { x: m.left - 7, y: sy(t) + 4, "text-anchor": "end" }, root, short(t));
  }
  svg("line", { class: "axis", x1: m.left, x2: width - m.right, y1: height - m.bottom, y2: height - m.bottom }, root);
  svg("line", { class: "axis", x1: m.left, x2: m.left, y1: m.top, y2: height - m.bottom }, root);
  svg("text", { class: "title", x: (m.left + width - m.right) / 2, y: height - 7, "text-anchor": "middle" }, root, xTitle);
  const middle = (m.top + height - m.bottom) / 2;
  svg("text", { class: "title", x: 13, y: middle, "text-anchor": "middle", transform: `rotate(-90 13 ${middle})` }, root, yTitle);
  return { root, sx, sy };
};
// As wide as there is room, so that letters keep their size on a phone.
const roomIn = (node, most) => Math.max(300, Math.min(most, node.clientWidth || most));
const toUser = (root, event) => {
  const box = root.getBoundingClientRect();
  const view = root.viewBox.baseVal;
  const scale = view.width / box.width;
  return { x: (event.clientX - box.left) * scale, y: (event.clientY - box.top) * scale, scale };
};
const nearest = (points, at, reach) => {
  let best = null;
  let least = reach * reach;
  for (const p of points) {
    const d = (p.px - at.x) ** 2 + (p.py - at.y) ** 2;
    if (d < least) { least = d; best = p; }
  }
  return best;
};
const extent = (values, pad = 0.03) => {
  let low = Infinity;
  let high = -Infinity;
  for (const v of values) if (v !== null) { if (v < low) low = v; if (v > high) high = v; }
  const room = (high - low || Math.abs(high) || 1) * pad;
  return [low - room, high + room];
};

// ---- quality against cost ----

const logTicks = (low, high) => {
  const found = [];
  const wide = Math.log10(high / low) > 2.5;
  for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k++) {
    for (const m of wide ? [1] : [1, 2, 5]) if (m * 10 ** k >= low && m * 10 ** k <= high) found.push(m * 10 ** k);
  }
  return found;
};
// Beside its point, or as near above or below as no other label stands.
const placeLabel = (taken, p, width, right) => {
  let best = null;
  for (const dy of [4, -9, 17, -22, 30, -35, 43]) {
    for (const side of [1, -1]) {
      const x0 = side > 0 ? p.px + 10 : p.px - 10 - width;
      const box = [x0, p.py + dy - 10, x0 + width, p.py + dy + 2];
      const over = taken.filter((t) => t[0] < box[2] && box[0] < t[2] && t[1] < box[3] && box[1] < t[3]).length;
      const cost = over + (box[0] < 60 || box[2] > right ? 100 : 0);
      if (!best || cost < best.cost) best = { cost, dy, side, box };
    }
    if (!best.cost) break;
  }
  taken.push(best.box);
  return best;
};
const tradeoffPart = (data) => {
  const known = data.models.filter((m) => m.us > 0 && m.at[1] !== null);
  if (!$("tradeoff") || known.length < 2) return;
  // Baselines far below would press the others together.
  const models = known.filter((m) => m.family !== "baseline");
  const shown = models.length > 1 ? models : known;
  const costs = shown.map((m) => m.us);
  const x = [Math.min(...costs) / 1.7, Math.max(...costs) * 1.7];
  const y = extent(shown.flatMap((m) => m.at), 0.04);
  const width = roomIn($("tradeoff"), 560);
  const height = Math.round(0.59 * width) + 20;
  const plot = frame($("tradeoff"), {
    width, height, x, y, logX: true, xTicks: logTicks(...x), xTitle: "µs to score a document", yTitle: data.metrics[0],
    label: `${data.metrics[0]} against the time to score a document`,
  });
  plot.root.setAttribute("role", "group");
  const sign = data.higher[data.metrics[0]] ? 1 : -1;
  let top = -Infinity;
  const front = [...shown].sort((a, b) => a.us - b.us || sign * (b.at[1] - a.at[1]))
    .filter((m) => (sign * m.at[1] > top ? ((top = sign * m.at[1]), true) : false));
  const place = (m) => `${plot.sx(m.us).toFixed(1)} ${plot.sy(m.at[1]).toFixed(1)}`;
  svg("path", { class: "front", d: front.map((m, i) => `${i ? "L" : "M"}${place(m)}`).join("") }, plot.root);
  const points = shown.map((m) => ({ m, px: plot.sx(m.us), py: plot.sy(m.at[1]) }));
  const taken = points.map((p) => [p.px - 6, p.py - 6, p.px + 6, p.py + 6]);
  for (const p of points) {
    const on = front.includes(p.m);
    const lines = [p.m.name, `${data.metrics[0]} ${fixed(p.m.at[1])} [${fixed(p.m.at[0])}, ${fixed(p.m.at[2])}]`, `${short(Number(p.m.us.toPrecision(3)))} µs a document`];
    if (on) lines.push("no other is both better and cheaper");
    const g = svg("g", { class: `system${on ? " on" : ""}`, tabindex: 0, role: "img", "aria-label": lines.join(", ") }, plot.root);
    svg("line", { class: "whisker", x1: p.px, x2: p.px, y1: plot.sy(p.m.at[0]), y2: plot.sy(p.m.at[2]) }, g);
    svg("circle", { class: `mark f-${p.m.family || "other"}`, cx: p.px, cy: p.py, r: 5.5 }, g);
    const { dy, side } = placeLabel(taken, p, p.m.name.length * (on ? 7.2 : 6.6), width - 4);
    if (Math.abs(dy - 4) > 10) svg("line", { class: "leader", x1: p.px, y1: p.py, x2: p.px + side * 9, y2: p.py + dy - 4 }, g);
    svg("text", { x: p.px + side * 10, y: p.py + dy, "text-anchor": side > 0 ? "start" : "end" }, g, p.m.name);
    const show = () => {
      const box = g.querySelector("circle").getBoundingClientRect();
      showTip(lines, box.right, box.top);
    };
    g.addEventListener("pointerenter", show);
    g.addEventListener("focus", show);
    g.addEventListener("pointerleave", hideTip);
    g.addEventListener("blur", hideTip);
  }
};
