// Features now and then.

import { $, el, part, say, svg, table } from "./dom.js";
import { fixed, percent, plural } from "./format.js";

const [WIDTH, HEIGHT] = [120, 26];

// Bars of now before the outline of then.
const histogram = (parent, { then, now }) => {
  const root = svg("svg", { class: "histogram", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, "aria-hidden": "true" }, parent);
  const top = Math.max(...then, ...now) || 1;
  const step = WIDTH / Math.max(now.length, 1);
  const y = (share) => HEIGHT - 1 - (share / top) * (HEIGHT - 3);
  now.forEach((share, i) => svg("rect", { x: (i * step + 0.5).toFixed(1), width: Math.max(1, step - 1).toFixed(1), y: y(share).toFixed(1), height: (HEIGHT - 1 - y(share)).toFixed(1) }, root));
  const d = then.map((share, i) => `${i ? "V" : "M0 "}${y(share).toFixed(1)}H${((i + 1) * step).toFixed(1)}`).join("");
  svg("path", { d }, root);
};

const words = { stable: "stable", moved: "moved", drifted: "drifted" };

export const driftPart = () => {
  const draw = part($("drift"), (node, { features, reason }) => {
    if (!features.length) { el("p", { class: "muted" }, node, reason); return; }
    const scroll = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Drift by feature", "data-key": "drift" }, node);
    const body = table(scroll, "Features that moved most", ["feature", ["PSI", "n"], "", "now, and then as a line", ["missing then", "n"], ["now", "n"]]);
    for (const feature of features) {
      const row = el("tr", { class: feature.state }, body);
      el("th", { scope: "row" }, row, feature.name);
      el("td", { class: "n" }, row, fixed(feature.psi, 3));
      el("span", { class: `badge ${feature.state === "drifted" ? "warn" : ""}` }, el("td", {}, row), words[feature.state] ?? feature.state);
      histogram(el("td", {}, row), feature);
      el("td", { class: "n" }, row, percent(feature.missing_then));
      el("td", { class: "n" }, row, percent(feature.missing_now));
    }
  });
  return ({ drift }) => {
    draw({ features: drift.features, reason: drift.reason });
    const lead = drift.features.length
      ? `${plural(drift.rows, "document")} that were ranked, against ${drift.reference}. Population stability index (PSI): below 0.1 stable, from 0.25 on drifted. Bars are tenths of the reference, and what lies beyond.`
      : "";
    say($("drift-lead"), [lead, drift.whose].filter(Boolean).join(" "));
  };
};
