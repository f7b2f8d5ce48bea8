// A line chart: SVG for the eye, a sentence and a table for whoever reads otherwise.

import { clear, el, svg, table } from "./dom.js";
import { number } from "./format.js";
import { hideTip, showTip } from "./tip.js";

const ticks = (low, high, n) => {
  const raw = (high - low) / n || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(i * step);
  return found;
};
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const short = (value) => (Math.abs(value) >= 1e4 ? compact.format(value) : number(value, 4));

const path = (points) => {
  let pen = "M";
  let d = "";
  for (const [x, y] of points) {
    if (y === null) { pen = "M"; continue; } // a gap where there is no value
    d += `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = "L";
  }
  return d;
};
const last = (values) => values.findLast((v) => v !== null) ?? null;

// Names beside the ends of their lines, moved apart where they would touch.
const endLabels = (root, lines, x, low, high) => {
  const shown = lines.filter((line) => line.y !== null).sort((a, b) => a.y - b.y);
  shown.forEach((line, i) => { line.at = Math.max(line.y + 4, i ? shown[i - 1].at + 14 : low); });
  for (let i = shown.length - 1, most = high; i >= 0; i--) {
    shown[i].at = Math.min(shown[i].at, most);
    most = shown[i].at - 14;
  }
  for (const line of shown) svg("text", { class: `end ${line.kind}`, x, y: line.at }, root, line.name);
};

const draw = (box, { x, lines, xTitle, yTitle, height, xText }) => {
  clear(box);
  const width = Math.max(260, box.clientWidth);
  const names = lines.map((line) => line.name);
  const m = { left: 46, right: 16 + 6.6 * Math.max(...names.map((n) => n.length)), top: 22, bottom: 34 };
  const inner = [width - m.left - m.right, height - m.top - m.bottom];
  const all = lines.flatMap((line) => line.values).filter((v) => v !== null);
  const top = Math.max(...all, 0) * 1.06 || 1;
  const [x0, x1] = [x[0], x.at(-1)];
  const sx = (v) => m.left + ((v - x0) / (x1 - x0 || 1)) * inner[0];
  const sy = (v) => m.top + (1 - v / top) * inner[1];
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" }, box);
  for (const t of ticks(0, top, Math.max(2, height / 60))) {
    svg("line", { class: t === 0 ? "axis" : "gridline", x1: m.left, x2: width - m.right, y1: sy(t), y2: sy(t) }, root);
    svg("text", { x: m.left - 7, y: sy(t) + 4, "text-anchor": "end" }, root, short(t));
  }
  for (const t of ticks(x0, x1, Math.max(3, inner[0] / 90))) {
    svg("line", { class: "axis", x1: sx(t), x2: sx(t), y1: height - m.bottom, y2: height - m.bottom + 4 }, root);
    svg("text", { x: sx(t), y: height - m.bottom + 16, "text-anchor": "middle" }, root, short(t));
  }
  svg("text", { class: "title", x: 2, y: 11 }, root, yTitle);
  svg("text", { class: "title", x: width - m.right, y: height - 4, "text-anchor": "end" }, root, xTitle);
  for (const line of lines) {
    const points = x.map((v, i) => [sx(v), line.values[i] === null ? null : sy(line.values[i])]);
    if (line.area) svg("path", { class: `area ${line.kind}`, d: `${path(points)}L${sx(x1)} ${sy(0)}L${sx(x0)} ${sy(0)}Z` }, root);
    svg("path", { class: `curve ${line.kind}`, d: path(points) }, root);
    if (x.length === 1 && points[0][1] !== null) svg("circle", { class: `dot ${line.kind}`, cx: points[0][0], cy: points[0][1], r: 3 }, root);
  }
  const ends = lines.map((line) => ({ ...line, y: last(line.values) === null ? null : sy(last(line.values)) }));
  endLabels(root, ends, width - m.right + 7, m.top + 4, height - m.bottom);
  hover(root, { x, lines, sx, sy, m, height, xText });
};

const hover = (root, { x, lines, sx, sy, m, height, xText }) => {
  const group = svg("g", { class: "cross" }, root);
  root.addEventListener("pointermove", (event) => {
    const box = root.getBoundingClientRect();
    const at = event.clientX - box.left;
    let i = 0;
    for (let j = 1; j < x.length; j++) if (Math.abs(sx(x[j]) - at) < Math.abs(sx(x[i]) - at)) i = j;
    clear(group);
    svg("line", { x1: sx(x[i]), x2: sx(x[i]), y1: m.top, y2: height - m.bottom }, group);
    for (const line of lines) {
      if (line.values[i] !== null) svg("circle", { class: `dot ${line.kind}`, cx: sx(x[i]), cy: sy(line.values[i]), r: 3.5 }, group);
    }
    showTip([xText(x[i]), ...lines.map((line) => `${line.name}: ${number(line.values[i])}`)], event.clientX, event.clientY);
  });
  root.addEventListener("pointerleave", () => { clear(group); hideTip(); });
};

const ROWS = 12;
const fill = (details, { x, lines, xTitle, caption }) => {
  details.querySelector("table")?.remove();
  const body = table(details.querySelector(".scroll"), caption, [[xTitle, "n"], ...lines.map((line) => [line.name, "n"])]);
  const step = Math.max(1, Math.ceil(x.length / ROWS));
  for (let i = x.length - 1; i >= 0; i -= step) {
    const row = el("tr", {}, body);
    el("th", { scope: "row", class: "n" }, row, number(x[i], 6));
    for (const line of lines) el("td", { class: "n" }, row, number(line.values[i]));
  }
};

// A chart within `figure`, which has a .plot and a details; call the result with what to show.
export const chart = (figure) => {
  const box = figure.querySelector(".plot");
  const details = figure.querySelector("details");
  let now = null;
  const show = () => {
    if (!now) return;
    draw(box, now);
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", now.label);
    if (details.open) fill(details, now);
  };
  details.addEventListener("toggle", () => { if (details.open && now) fill(details, now); });
  new ResizeObserver(([entry]) => {
    if (now && Math.abs(entry.contentRect.width - now.width) > 1) { now.width = entry.contentRect.width; show(); }
  }).observe(box);
  return (data) => {
    now = { height: 200, ...data, width: box.clientWidth };
    show();
  };
};
