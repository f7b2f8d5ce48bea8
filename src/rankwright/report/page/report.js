"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const make = (space) => (tag, attributes = {}, parent = null, text = null) => {
    const node = space ? document.createElementNS(space, tag) : document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== null) node.textContent = text;
    if (parent) parent.append(node);
    return node;
  };
  const el = make(null);
  const svg = make(SVG);
  const clear = (node) => { while (node.firstChild) node.firstChild.remove(); };
  const fixed = (value, digits = 4) => (value === null ? "–" : value.toFixed(digits));
  const signed = (value) => (value > 0 ? "+" : "") + value.toFixed(3).replace("-", "−");

  // ---- theme ----

  const themes = ["auto", "light", "dark"];
  const theme = $("theme");
  const setTheme = (name) => {
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    theme.dataset.now = name;
    theme.textContent = `Theme: ${name}`;
    theme.setAttribute("aria-label", `Colours: ${name === "auto" ? "as the system" : name}`);
  };
  theme.addEventListener("click", () => {
    setTheme(themes[(themes.indexOf(theme.dataset.now || "auto") + 1) % themes.length]);
  });

  // ---- sorting ----

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.querySelectorAll("thead th")];
    for (const button of table.querySelectorAll("thead button")) {
      button.addEventListener("click", () => {
        const head = button.closest("th");
        const column = heads.indexOf(head);
        const numeric = head.classList.contains("n");
        const before = head.getAttribute("aria-sort");
        const falls = before === "none" ? numeric : before === "ascending";
        for (const other of heads) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", falls ? "descending" : "ascending");
        const key = (row) => row.cells[column].dataset.v;
        const compare = numeric
          ? (a, b) => (Number(key(a)) || 0) - (Number(key(b)) || 0)
          : (a, b) => key(a).localeCompare(key(b));
        const rows = [...table.tBodies[0].rows].sort(compare);
        table.tBodies[0].append(...(falls ? rows.reverse() : rows));
      });
    }
  }

  // ---- tooltip ----

  const tip = $("tip");
  const showTip = (lines, x, y) => {
    clear(tip);
    lines.forEach((line, i) => el(i ? "div" : "strong", {}, tip, line));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${y + box.height + 24 > innerHeight ? y - box.height - 12 : y + 14}px`;
  };
  const hideTip = () => { tip.hidden = true; };

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
  const frame = (parent, { width, height, x, y, xTitle, yTitle, label }) => {
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, parent);
    const m = { left: 64, right: 14, top: 12, bottom: 46 };
    const sx = (v) => m.left + ((v - x[0]) / (x[1] - x[0] || 1)) * (width - m.left - m.right);
    const sy = (v) => height - m.bottom - ((v - y[0]) / (y[1] - y[0] || 1)) * (height - m.top - m.bottom);
    for (const t of ticks(x[0], x[1], Math.max(3, width / 90))) {
      svg("line", { class: "gridline", x1: sx(t), x2: sx(t), y1: m.top, y2: height - m.bottom }, root);
      svg("text", { x: sx(t), y: height - m.bottom + 17, "text-anchor": "middle" }, root, short(t));
    }
    for (const t of ticks(y[0], y[1], Math.max(3, height / 70))) {
      svg("line", { class: "gridline", x1: m.left, x2: width - m.right, y1: sy(t), y2: sy(t) }, root);
      svg("text", { x: m.left - 7, y: sy(t) + 4, "text-anchor": "end" }, root, short(t));
    }
    svg("line", { class: "axis", x1: m.left, x2: width - m.right, y1: height - m.bottom, y2: height - m.bottom }, root);
    svg("line", { class: "axis", x1: m.left, x2: m.left, y1: m.top, y2: height - m.bottom }, root);
    svg("text", { class: "title", x: (m.left + width - m.right) / 2, y: height - 8, "text-anchor": "middle" }, root, xTitle);
    const middle = (m.top + height - m.bottom) / 2;
    svg("text", { class: "title", x: 13, y: middle, "text-anchor": "middle", transform: `rotate(-90 13 ${middle})` }, root, yTitle);
    return { root, sx, sy };
  };
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
    for (const v of values) { if (v < low) low = v; if (v > high) high = v; }
    const room = (high - low || Math.abs(high) || 1) * pad;
    return [low - room, high + room];
  };

  // ---- query by query ----

  const scatterPart = (data) => {
    if (!$("scatter") || data.models.length < 2) return;
    const choose = { a: $("model-a"), b: $("model-b"), metric: $("metric") };
    data.models.forEach((model, i) => {
      el("option", { value: i }, choose.a, model.name);
      el("option", { value: i }, choose.b, model.name);
    });
    data.metrics.forEach((name) => el("option", { value: name }, choose.metric, name));
    choose.a.value = 1;
    choose.b.value = 0;
    let points = [];
    let current = null;
    let plot = null;
    const drill = drillPart(data);

    const name = (p) => `Query ${data.queries[p.q]}${data.folds.length > 1 ? ` (${data.folds[data.fold[p.q]]})` : ""}`;
    const models = () => [data.models[choose.a.value].name, data.models[choose.b.value].name];
    const lines = (p) => {
      const [a, b] = models();
      return [name(p), `${b}: ${fixed(p.y)}`, `${a}: ${fixed(p.x)}`, `difference ${signed(p.y - p.x)}`];
    };
    const ring = (p) => {
      plot.root.querySelector(".ring")?.remove();
      if (p) svg("circle", { class: "ring", cx: p.px, cy: p.py, r: 7.5 }, plot.root);
    };
    const open = (p, focus) => {
      current = p;
      ring(p);
      drill(p.q, Number(choose.a.value), Number(choose.b.value), choose.metric.value, name(p), focus);
    };
    const tipAt = (p) => {
      const box = plot.root.getBoundingClientRect();
      const scale = box.width / plot.root.viewBox.baseVal.width;
      showTip(lines(p), box.left + p.px * scale, box.top + p.py * scale);
    };

    const draw = () => {
      const [a, b] = models();
      const values = data.values[choose.metric.value];
      const xs = values[choose.a.value];
      const ys = values[choose.b.value];
      points = [];
      for (let q = 0; q < xs.length; q++) if (xs[q] !== null && ys[q] !== null) points.push({ q, x: xs[q], y: ys[q] });
      points.sort((p, r) => p.y - p.x - (r.y - r.x));
      const area = extent(points.flatMap((p) => [p.x, p.y]));
      clear($("scatter"));
      plot = frame($("scatter"), {
        width: 560, height: 560, x: area, y: area, xTitle: `${choose.metric.value} of ${a}`, yTitle: `${choose.metric.value} of ${b}`,
        label: `${choose.metric.value} of ${b} against ${a}, ${points.length} queries. Arrow keys move between queries, Enter opens one.`,
      });
      plot.root.setAttribute("tabindex", "0");
      plot.root.setAttribute("role", "application");
      svg("line", { class: "diagonal", x1: plot.sx(area[0]), y1: plot.sy(area[0]), x2: plot.sx(area[1]), y2: plot.sy(area[1]) }, plot.root);
      for (const p of points) {
        p.px = plot.sx(p.x);
        p.py = plot.sy(p.y);
        const side = Math.abs(p.y - p.x) < 1e-9 ? "t" : p.y > p.x ? "b" : "a";
        svg("circle", { class: `dot ${side}`, cx: p.px, cy: p.py, r: 4.2, "data-q": p.q }, plot.root);
      }
      plot.root.addEventListener("pointermove", (event) => {
        const at = toUser(plot.root, event);
        const p = nearest(points, at, 22 * at.scale);
        ring(p || current);
        if (p) showTip(lines(p), event.clientX, event.clientY); else hideTip();
      });
      plot.root.addEventListener("pointerleave", () => { hideTip(); ring(current); });
      plot.root.addEventListener("blur", hideTip);
      plot.root.addEventListener("click", (event) => {
        const at = toUser(plot.root, event);
        const p = nearest(points, at, 26 * at.scale);
        if (p) open(p, false);
      });
      plot.root.addEventListener("keydown", (event) => {
        const last = points.length - 1;
        const i = points.indexOf(current);
        const next = {
          ArrowRight: Math.min(i + 1, last), ArrowUp: Math.min(i + 1, last), ArrowLeft: Math.max(i - 1, 0),
          ArrowDown: Math.max(i - 1, 0), Home: 0, End: last,
        }[event.key];
        if (next !== undefined && last >= 0) {
          current = points[next];
          ring(current);
          tipAt(current);
          $("announce").textContent = lines(current).join(", ");
          event.preventDefault();
        } else if ((event.key === "Enter" || event.key === " ") && current) {
          hideTip();
          open(current, true);
          event.preventDefault();
        } else if (event.key === "Escape") hideTip();
      });
      const won = points.filter((p) => p.y - p.x > 1e-9).length;
      const lost = points.filter((p) => p.x - p.y > 1e-9).length;
      clear($("tally"));
      el("b", { class: "b" }, $("tally"), `${b} better on ${won}`);
      $("tally").append(", ");
      el("b", { class: "a" }, $("tally"), `${a} on ${lost}`);
      $("tally").append(`, equal on ${points.length - won - lost} of ${points.length} queries.`);
      clear($("extremes"));
      const chosen = [...points.slice(-5).reverse(), ...points.slice(0, 5)].filter((p) => Math.abs(p.y - p.x) > 1e-9);
      for (const p of new Set(chosen)) {
        const button = el("button", { type: "button" }, el("li", {}, $("extremes")));
        el("span", {}, button, name(p));
        el("span", { class: `d ${p.y > p.x ? "b" : "a"}` }, button, signed(p.y - p.x));
        button.addEventListener("click", () => open(p, true));
      }
      if (current) {
        current = points.find((p) => p.q === current.q) || null;
        if (current && !$("drill").hidden) open(current, false); else ring(current);
      }
    };
    for (const control of Object.values(choose)) control.addEventListener("change", draw);
    $("swap").addEventListener("click", () => {
      [choose.a.value, choose.b.value] = [choose.b.value, choose.a.value];
      draw();
    });
    draw();
  };

  // ---- one query: two ranked lists ----

  const drillPart = (data) => {
    const first = 10;
    let all = false;
    let shown = null;
    const labels = data.lists.flatMap((list) => (list ? list.y : []));
    const highest = labels.reduce((a, b) => Math.max(a, b), 1);
    const chip = (y, parent) => {
      const grade = Math.max(0, Math.min(4, Math.round((4 * y) / highest)));
      return el("span", { class: `chip y${grade}`, title: `label ${y}` }, parent, String(y));
    };
    el("span", {}, $("labels"), "Labels:");
    for (const y of [...new Set(labels)].sort((a, b) => a - b).slice(0, 8)) chip(y, $("labels"));
    el("span", {}, $("labels"), "Lines join the same document.");

    const links = () => {
      const middle = $("lists").querySelector("svg");
      if (!middle) return;
      clear(middle);
      const top = middle.getBoundingClientRect();
      const rows = (side) => new Map([...$("lists").querySelectorAll(`.${side} li`)].map((li) => [li.dataset.doc, li]));
      const right = rows("right");
      for (const [doc, li] of rows("left")) {
        const other = right.get(doc);
        if (!other) continue;
        const y = (node) => { const b = node.getBoundingClientRect(); return b.top + b.height / 2 - top.top; };
        const [y1, y2] = [y(li), y(other)];
        const w = top.width;
        const kind = Math.abs(y1 - y2) < 2 ? "" : y2 < y1 ? "up" : "down";
        svg("path", { class: `link ${kind}`, "data-doc": doc, d: `M0 ${y1} C${w / 2} ${y1} ${w / 2} ${y2} ${w} ${y2}` }, middle);
      }
    };
    const light = (doc) => {
      for (const node of $("lists").querySelectorAll("[data-doc]")) node.classList.toggle("lit", node.dataset.doc === doc);
    };
    const column = (side, model, order, others, list, count, value) => {
      const box = el("div", { class: side }, $("lists"));
      el("h4", { class: side === "left" ? "a" : "b" }, box, `${data.models[model].name}  ${fixed(value)}`);
      const items = el("ol", { "aria-label": `Ranking by ${data.models[model].name}` }, box);
      const place = new Map(others.map((doc, i) => [doc, i + 1]));
      order.slice(0, count).forEach((doc, i) => {
        const li = el("li", { "data-doc": doc }, items);
        el("span", { class: "rank" }, li, String(i + 1));
        chip(list.y[doc], li);
        const text = list.d ? list.d[doc] : `document ${list.r[doc]}`;
        el("span", { class: "name", title: text }, li, text);
        const there = place.get(doc);
        const move = there === undefined ? "" : there - (i + 1);
        const says = side === "left" ? (there === undefined ? "→ below" : there > count ? `→ ${there}` : "")
          : move === "" ? "new" : move > 0 ? `▲ ${move}` : move < 0 ? `▼ ${-move}` : "";
        el("span", { class: "move" }, li, says);
        li.addEventListener("pointerenter", () => light(String(doc)));
        li.addEventListener("pointerleave", () => light(null));
      });
    };
    const draw = (focus) => {
      const { q, a, b, metric, title } = shown;
      const list = data.lists[q];
      $("drill").hidden = false;
      $("drill-title").textContent = title;
      clear($("lists"));
      $("more").hidden = !list;
      if (!list) {
        $("drill-text").textContent = "The lists of this query are not in the page: the models agree on it more than on others.";
      } else {
        const values = data.values[metric];
        const length = list.o[a].length;
        const count = all ? length : Math.min(first, length);
        $("drill-text").textContent = `${list.n} document${list.n === 1 ? "" : "s"}; ${metric} ${fixed(values[a][q])} and ${fixed(values[b][q])}.`;
        column("left", a, list.o[a], list.o[b], list, count, values[a][q]);
        svg("svg", { "aria-hidden": "true", height: "100%" }, el("div", {}, $("lists")));
        column("right", b, list.o[b], list.o[a], list, count, values[b][q]);
        $("more").hidden = length <= first;
        $("more").textContent = all ? `Show the first ${first}` : `Show all ${length}`;
        links();
      }
      if (focus) {
        $("drill-title").focus({ preventScroll: true });
        $("drill").scrollIntoView({ block: "nearest" });
      }
    };
    $("more").addEventListener("click", () => { all = !all; draw(false); });
    new ResizeObserver(links).observe($("lists"));
    return (q, a, b, metric, title, focus) => { shown = { q, a, b, metric, title }; draw(focus); };
  };

  // ---- training ----

  const dashes = ["", "7 3", "2 3", "9 3 2 3", "12 4", "4 2", "1 3", "12 3 3 3"];
  const panel = (title, text) => {
    const box = el("div", { class: "chart" }, $("charts"));
    el("h3", {}, box, title);
    if (text) el("p", {}, box, text);
    return box;
  };
  const lineChart = (title, text, xTitle, yTitle, series, marks) => {
    const box = panel(title, text);
    const x = extent(series.flatMap((s) => s.x), 0.01);
    const y = extent(series.flatMap((s) => s.y), 0.06);
    const plot = frame(box, { width: 560, height: 320, x, y, xTitle, yTitle, label: `${title}: ${series.map((s) => s.name).join(", ")}` });
    const points = [];
    series.forEach((s, k) => {
      const style = `stroke: var(--c${k % 8})`;
      const d = s.x.map((v, i) => `${i ? "L" : "M"}${plot.sx(v).toFixed(1)} ${plot.sy(s.y[i]).toFixed(1)}`).join("");
      svg("path", { class: "curve", d, style, "stroke-dasharray": dashes[k % 8] }, plot.root);
      s.x.forEach((v, i) => {
        const p = { px: plot.sx(v), py: plot.sy(s.y[i]), lines: [s.name, `${xTitle} ${short(v)}`, `${yTitle} ${short(s.y[i])}`] };
        points.push(p);
        if (marks) svg("circle", { cx: p.px, cy: p.py, r: 3.4, style: `fill: var(--c${k % 8})` }, plot.root);
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
    if (metric.length) lineChart("Learning curves", `On the validation queries, after each tree.${fold}`, "trees", data.metrics[0], metric, false);
    if (objective.length) lineChart("Convergence", `Objective over its value at weights 0; it never rises.${fold}`, "iterations", "objective", objective, false);
    const paths = Object.entries(data.paths).map(([name, path]) => {
      const seen = path.filter((p) => p.valid !== null);
      return { name, x: seen.map((p) => p.n_features), y: seen.map((p) => p.valid) };
    });
    if (paths.length) lineChart("Sparsity path", `Quality on the validation queries against the number of features that the l1 penalty leaves.${fold}`, "features", data.metrics[0], paths, true);
    for (const study of data.noise) {
      const series = Object.entries(study.means).map(([name, y]) => ({ name, x: study.levels, y }));
      lineChart(`Noise: ${study.name}`, `Quality on test queries as the training data gets worse; means of ${study.trials} trials.`, study.what, study.metric, series, true);
    }
    for (const [name, g] of Object.entries(data.guarantees)) {
      const box = panel(`Guarantee of ${name}`,
        `Its loss promises to be at least ${g.promise} on every query. ${g.holds ? "Kept on every test query." : "Broken!"} Mean loss ${short(g.mean_loss)}, mean bound ${short(g.mean_bound)}.`);
      const plot = frame(box, {
        width: 560, height: 320, x: extent(g.bound), y: extent([...g.loss, ...g.bound]), xTitle: "bound", yTitle: "loss",
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
    $("no-charts").hidden = $("charts").childElementCount > 0;
  };

  // ---- begin ----

  const unpack = async () => {
    const bytes = Uint8Array.from(atob($("payload").textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  };
  unpack().then((data) => {
    scatterPart(data);
    trainingPart(data);
    document.documentElement.dataset.ready = "yes";
  });
})();
