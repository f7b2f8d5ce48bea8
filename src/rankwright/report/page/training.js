// ---- training ----

const dashes = ["", "7 3", "2 3", "9 3 2 3", "12 4", "4 2", "1 3", "12 3 3 3"];
const panel = (title, text, parent = $("charts")) => {
  const box = el("div", { class: "chart" }, parent);
  el("h3", {}, box, title);
  if (text) el("p", {}, box, text);
  return box;
};
const shapeIn = (box) => { const width = roomIn(box, 560); return { width, height: Math.round(0.5 * width) + 40 }; };
const lineChart = (title, text, xTitle, yTitle, series, { marks = false, xTicks = null } = {}) => {
  const box = panel(title, text);
  const x = extent(series.flatMap((s) => s.x), 0.01);
  const y = extent(series.flatMap((s) => [...s.y, ...(s.low || []), ...(s.high || [])]), 0.06);
  const plot = frame(box, { ...shapeIn(box), x, y, xTitle, yTitle, xTicks, label: `${title}: ${series.map((s) => s.name).join(", ")}` });
  const points = [];
  const path = (xs, ys) => xs.map((v, i) => `${i ? "L" : "M"}${plot.sx(v).toFixed(1)} ${plot.sy(ys[i]).toFixed(1)}`).join("");
  series.forEach((s, k) => {
    const ends = s.low && s.low.every((v) => v !== null);
    if (ends) {
      const back = path([...s.x].reverse(), [...s.high].reverse()).replace("M", "L");
      svg("path", { class: "band", d: `${path(s.x, s.low)}${back}Z`, style: `fill: var(--c${k % 8})` }, plot.root);
    }
  });
  series.forEach((s, k) => {
    svg("path", { class: "curve", d: path(s.x, s.y), style: `stroke: var(--c${k % 8})`, "stroke-dasharray": dashes[k % 8] }, plot.root);
    s.x.forEach((v, i) => {
      const p = { px: plot.sx(v), py: plot.sy(s.y[i]), lines: [s.name, `${xTitle} ${short(v)}`, `${yTitle} ${short(s.y[i])}`] };
      if (s.low && s.low[i] !== null) p.lines.push(`95 % interval ${short(s.low[i])} to ${short(s.high[i])}`);
      if (s.says) p.lines.push(...s.says[i]);
      points.push(p);
      if (marks) svg("circle", { cx: p.px, cy: p.py, r: 3.4, style: `fill: var(--c${k % 8})` }, plot.root);
      if (s.best === i) svg("circle", { class: "best", cx: p.px, cy: p.py, r: 7.5, style: `stroke: var(--c${k % 8})` }, plot.root);
    });
  });
  hover(plot.root, points);
  const keys = el("ul", { class: "keys" }, box);
  series.forEach((s, k) => {
    const li = el("li", {}, keys);
    const key = svg("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" }, li);
    svg("line", { x1: 0, x2: 26, y1: 5, y2: 5, style: `stroke: var(--c${k % 8}); stroke-width: 2.5`, "stroke-dasharray": dashes[k % 8] }, key);
    li.append(s.name);
  });
};
const hover = (root, points) => {
  root.addEventListener("pointermove", (event) => {
    const at = toUser(root, event);
    const p = nearest(points, at, 26 * at.scale);
    if (p) showTip(p.lines, event.clientX, event.clientY); else hideTip();
  });
  root.addEventListener("pointerleave", hideTip);
};
const trainingPart = (data) => {
  const sign = data.higher[data.metrics[0]] ? 1 : -1;
  const metric = [];
  const objective = [];
  for (const [name, curves] of Object.entries(data.curves)) {
    for (const [what, c] of Object.entries(curves)) {
      if (what === "objective") {
        const start = c.y[0] || 1;
        if (c.x.length > 1) objective.push({ name, x: c.x, y: c.y.map((v) => v / start) });
      } else metric.push({ name: what.startsWith("valid") ? name : `${name}, ${what}`, x: c.x.map((v) => v + 1), y: c.y });
    }
  }
  const fold = data.folds.length > 1 ? ` ${data.folds[0]}.` : "";
  if (metric.length) lineChart("Learning curves", `On the validation queries, after each tree.${fold}`, "trees", data.metrics[0], metric);
  if (objective.length) lineChart("Convergence", `Objective over its value at weights 0; it never rises.${fold}`, "iterations", "objective", objective);
  const paths = Object.entries(data.paths).map(([name, path]) => {
    const seen = path.filter((p) => p.valid !== null);
    const best = seen.reduce((found, p, i) => (i && sign * p.valid <= sign * seen[found].valid ? found : i), 0);
    const says = seen.map((p, i) => [`alpha ${short(p.alpha)}`, ...(i === best ? ["the best alpha"] : [])]);
    return { name, x: seen.map((p) => p.n_features), y: seen.map((p) => p.valid), says, best };
  });
  if (paths.length) lineChart("Sparsity path", `Quality on the validation queries against the number of features that the l1 penalty leaves; a ring is the best alpha.${fold}`, "features", data.metrics[0], paths, { marks: true });
  for (const study of data.noise) {
    const series = Object.entries(study.curves).map(([name, [y, low, high]]) => ({ name, x: study.levels, y, low, high }));
    lineChart(`Noise: ${study.name}`, `Quality on test queries as the training data gets worse: means of ${study.trials} trials, with 95 % intervals.`,
      study.what, study.metric, series, { marks: true, xTicks: study.levels });
  }
  const charts = $("charts").childElementCount;
  for (const node of document.querySelectorAll(".needs-charts")) node.hidden = !charts;
};

// ---- theory ----

const theoryPart = (data) => {
  for (const [name, g] of Object.entries(data.guarantees)) {
    const box = panel(name, `Its loss promises to be at least ${g.promise} on every query. ${g.holds ? "Kept on every test query." : "Broken!"} Mean loss ${short(g.mean_loss)}, mean bound ${short(g.mean_bound)}.`, $("theory-charts"));
    const plot = frame(box, {
      ...shapeIn(box), x: extent(g.bound), y: extent([...g.loss, ...g.bound]), xTitle: "bound", yTitle: "loss",
      label: `Loss against bound of ${name}; all points lie above the diagonal: ${g.holds ? "yes" : "no"}`,
    });
    const [low, high] = extent(g.bound);
    svg("line", { class: "diagonal", x1: plot.sx(low), y1: plot.sy(low), x2: plot.sx(high), y2: plot.sy(high) }, plot.root);
    const points = g.loss.map((v, i) => ({
      px: plot.sx(g.bound[i]), py: plot.sy(v), lines: [`Query ${g.queries[i]}`, `loss ${short(v)}`, `bound ${short(g.bound[i])}`],
    }));
    for (const p of points) svg("circle", { class: "dot a", cx: p.px, cy: p.py, r: 3.2 }, plot.root);
    hover(plot.root, points);
  }
  $("theory").hidden = !Object.keys(data.guarantees).length;
};
