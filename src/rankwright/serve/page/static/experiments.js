// Two models that share the queries: who is better, and whether that is certain.

import { ask } from "./api.js";
import { confirmed } from "./confirm.js";
import { $, clear, el, focusKey, onChange, part, svg, table } from "./dom.js";
import { count, fixed, percent, signed } from "./format.js";

// The interval of b less a around zero, on an axis that goes as far to the left as to the right.
const interval = (parent, { difference, low, high }) => {
  const [width, height] = [360, 46];
  const reach = 1.15 * Math.max(Math.abs(low), Math.abs(high), 1e-6);
  const sx = (v) => width / 2 + (v / reach) * (width / 2 - 8);
  const label = `Difference, b less a: ${signed(difference)}, from ${signed(low)} to ${signed(high)}.`;
  const root = svg("svg", { class: "interval", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, parent);
  svg("line", { class: "axis", x1: 4, x2: width - 4, y1: 18, y2: 18 }, root);
  svg("line", { class: "zero", x1: sx(0), x2: sx(0), y1: 4, y2: 32 }, root);
  svg("line", { class: "range", x1: sx(low), x2: sx(high), y1: 18, y2: 18 }, root);
  svg("circle", { cx: sx(difference), cy: 18, r: 5 }, root);
  svg("text", { x: 4, y: 44 }, root, "a is better");
  svg("text", { x: sx(0), y: 44, "text-anchor": "middle" }, root, "0");
  svg("text", { x: width - 4, y: 44, "text-anchor": "end" }, root, "b is better");
};

const card = (parent, found, end) => {
  const box = el("article", { class: "panel experiment" }, parent);
  const head = el("div", { class: "panel-head" }, box);
  const title = el("h3", {}, head, found.name);
  el("span", { class: found.running ? "badge good" : "badge" }, title, found.running ? "runs" : "ended");
  if (found.running) {
    const button = el("button", { type: "button", "data-key": `end ${found.experiment}` }, head, "End");
    button.setAttribute("aria-label", `End the experiment ${found.name}`);
    button.addEventListener("click", () => end(found));
  }
  el("p", { class: "verdict" }, box, found.verdict);
  if (found.low !== null && found.high !== null) {
    interval(box, found);
    el("p", { class: "fine" }, box, `NDCG@10, b less a: ${signed(found.difference)}, from ${signed(found.low)} to ${signed(found.high)}. This holds however often you look.`);
  }
  const body = table(el("div", { class: "scroll" }, box), "Both arms", ["arm", "model", ["queries", "n"], ["rankings", "n"], ["NDCG@10", "n"], ["share", "n"]]);
  for (const [name, arm, share] of [["a", found.a, 1 - found.share], ["b", found.b, found.share]]) {
    const row = el("tr", {}, body);
    el("th", { scope: "row" }, row, name);
    el("td", {}, row, String(arm.model));
    el("td", { class: "n" }, row, count(arm.queries));
    el("td", { class: "n" }, row, count(arm.rankings));
    el("td", { class: "n" }, row, fixed(arm.mean, 4));
    el("td", { class: "n" }, row, percent(share, 0));
  }
};

const options = (select, models) => {
  const before = select.value;
  clear(select);
  for (const model of models) el("option", { value: model.model }, select, `${model.model} · ${model.kind}${model.note ? ` · ${model.note}` : ""}`);
  if (models.some((model) => String(model.model) === before)) select.value = before;
};

const form = (changed) => {
  const fields = $("experiment-form");
  fields.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = {
      name: $("experiment-name").value.trim(), a: Number($("experiment-a").value), b: Number($("experiment-b").value),
      share: Number($("experiment-share").value) / 100,
    };
    $("experiment-error").hidden = true;
    try {
      await ask("/v1/experiments", { method: "POST", body });
      $("experiment-name").value = "";
      await changed(`The experiment ${body.name} has begun.`);
      $("experiments-title").focus();
    } catch (error) {
      $("experiment-error").textContent = error.message;
      $("experiment-error").hidden = false;
    }
  });
  return onChange((models) => {
    options($("experiment-a"), models);
    options($("experiment-b"), models);
    if (models.length > 1 && $("experiment-a").value === $("experiment-b").value) $("experiment-b").selectedIndex = models.length - 1;
  });
};

const SHOWN = 4;

export const experimentsPart = (changed) => {
  const choices = form(changed);
  const end = async (found) => {
    const done = await confirmed(`End ${found.name}?`, "The promoted model then ranks all queries. The result stays here.", "End the experiment",
      () => ask("/v1/experiments/end", { method: "POST", body: {} }));
    if (done) await changed(`The experiment ${found.name} has ended.`);
    focusKey($("experiments"), `end ${found.experiment}`, $("experiments-title"));
  };
  const draw = part($("experiments"), (node, found) => {
    if (!found.length) el("p", { class: "muted" }, node, "No experiment so far. Let two models share the queries, and this tells who ranks better and whether that is certain.");
    for (const one of [...found].reverse().slice(0, SHOWN)) card(node, one, end);
  });
  return ({ models, experiments }) => {
    draw(experiments);
    choices(models);
    const running = experiments.some((e) => e.running);
    $("experiment-begin").hidden = running || models.length < 2;
  };
};
