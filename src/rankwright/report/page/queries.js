// ---- query by query ----

const queriesPart = (data, reasonsOf) => {
  if (!$("scatter") || data.models.length < 2) return;
  const choose = { a: $("model-a"), b: $("model-b"), metric: $("metric") };
  const narrow = { text: $("search"), segment: $("segment"), length: $("length") };
  data.models.forEach((model, i) => {
    el("option", { value: i }, choose.a, model.name);
    el("option", { value: i }, choose.b, model.name);
  });
  data.metrics.forEach((name) => el("option", { value: name }, choose.metric, name));
  [choose.a.value, choose.b.value] = data.start;
  const lengths = "list-length";
  el("option", { value: "" }, narrow.length, "any");
  el("option", { value: "" }, narrow.segment, "all queries");
  for (const [column, segment] of Object.entries(data.segments)) {
    const parent = column === lengths ? narrow.length : el("optgroup", { label: column }, narrow.segment);
    segment.names.forEach((name, i) => el("option", { value: JSON.stringify([column, i]) }, parent, name));
  }
  for (const select of [narrow.segment, narrow.length]) select.parentElement.hidden = select.options.length < 3;

  const step = 100;
  let most = step;
  let points = [];
  let current = null;
  let plot = null;
  const drill = drillPart(data, reasonsOf);
  const lowered = data.queries.map((name) => name.toLowerCase());
  const fold = (q) => (data.folds.length > 1 ? ` (${data.folds[data.fold[q]]})` : "");
  const title = (q) => (/^[\w.:-]*\d[\w.:-]*$/.test(data.queries[q]) ? `Query ${data.queries[q]}` : `Query “${data.queries[q]}”`) + fold(q);
  const models = () => [data.models[choose.a.value].name, data.models[choose.b.value].name];
  const lines = (p) => {
    const [a, b] = models();
    return [title(p.q), `${b}: ${fixed(p.y)}`, `${a}: ${fixed(p.x)}`, `difference ${signed(p.y - p.x)}`];
  };
  const ring = (p) => {
    plot.root.querySelector(".ring")?.remove();
    if (p) svg("circle", { class: "ring", cx: p.px, cy: p.py, r: 7.5 }, plot.root);
  };
  const fragment = (q) => {
    const [a, b] = models();
    const parts = { q: data.queries[q], ...(data.folds.length > 1 ? { fold: data.folds[data.fold[q]] } : {}), a, b, metric: choose.metric.value };
    return `#${Object.entries(parts).map(([k, v]) => `${k}=${encodeURIComponent(v)}`).join("&")}`;
  };
  const open = (p, focus) => {
    current = p;
    ring(p);
    history.replaceState(null, "", fragment(p.q));
    $("copy").textContent = "Copy link";
    for (const button of $("found").querySelectorAll("button[data-q]")) button.classList.toggle("now", Number(button.dataset.q) === p.q);
    drill(p.q, Number(choose.a.value), Number(choose.b.value), choose.metric.value, title(p.q), focus);
  };
  const tipAt = (p) => {
    const box = plot.root.getBoundingClientRect();
    const scale = box.width / plot.root.viewBox.baseVal.width;
    showTip(lines(p), box.left + p.px * scale, box.top + p.py * scale);
  };

  const inside = (q) => {
    for (const select of [narrow.segment, narrow.length]) {
      if (!select.value) continue;
      const [column, i] = JSON.parse(select.value);
      if (data.segments[column].of[q] !== i) return false;
    }
    return lowered[q].includes(narrow.text.value.trim().toLowerCase());
  };
  const sign = () => (data.higher[choose.metric.value] ? 1 : -1);
  const gain = (p) => sign() * (p.y - p.x); // of the vertical model
  const side = (p) => (Math.abs(p.y - p.x) < 1e-9 ? "t" : gain(p) > 0 ? "b" : "a");
  const orders = {
    most: (p, r) => Math.abs(r.y - r.x) - Math.abs(p.y - p.x),
    "b-a": (p, r) => gain(r) - gain(p),
    "a-b": (p, r) => gain(p) - gain(r),
    "worst-b": (p, r) => sign() * (p.y - r.y),
    "worst-a": (p, r) => sign() * (p.x - r.x),
    long: (p, r) => data.lengths[r.q] - data.lengths[p.q],
    name: (p, r) => data.queries[p.q].localeCompare(data.queries[r.q], undefined, { numeric: true }),
  };
  const list = () => {
    clear($("found"));
    const [a, b] = models();
    const sorted = [...points].sort(orders[$("order").value]);
    for (const p of sorted.slice(0, most)) {
      const button = el("button", { type: "button", "data-q": p.q }, el("li", {}, $("found")));
      if (current && current.q === p.q) button.classList.add("now");
      el("span", { class: "name" }, button, title(p.q).replace(/^Query /, ""));
      el("span", { class: "a", title: a }, button, fixed(p.x, 3));
      el("span", { class: "b", title: b }, button, fixed(p.y, 3));
      el("span", { class: `d ${side(p)}` }, button, signed(p.y - p.x));
      button.addEventListener("click", () => open(p, true));
    }
    if (sorted.length > most) {
      const button = el("button", { type: "button", class: "further" }, el("li", {}, $("found")), `Show ${Math.min(step, sorted.length - most)} more of ${sorted.length}`);
      button.addEventListener("click", () => {
        most += step;
        list();
        $("found").querySelectorAll("button")[most - step].focus();
      });
    }
    if (!sorted.length) el("li", { class: "fine" }, $("found"), "No query is like that.");
  };
  const tally = () => {
    const [a, b] = models();
    const won = points.filter((p) => side(p) === "b").length;
    const lost = points.filter((p) => side(p) === "a").length;
    clear($("tally"));
    el("b", { class: "b" }, $("tally"), `${b} better on ${won}`);
    $("tally").append(", ");
    el("b", { class: "a" }, $("tally"), `${a} on ${lost}`);
    $("tally").append(`, equal on ${points.length - won - lost} of ${points.length} queries.`);
  };
  const onKey = (event) => {
    const last = points.length - 1;
    const i = points.findIndex((p) => current && p.q === current.q);
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
  };
  const draw = () => {
    const [a, b] = models();
    const values = data.values[choose.metric.value];
    const xs = values[choose.a.value];
    const ys = values[choose.b.value];
    const defined = [...xs.keys()].filter((q) => xs[q] !== null && ys[q] !== null);
    points = defined.filter(inside).map((q) => ({ q, x: xs[q], y: ys[q] }));
    points.sort(orders["a-b"]);
    const area = defined.length ? extent(defined.flatMap((q) => [xs[q], ys[q]])) : [0, 1];
    clear($("scatter"));
    const room = roomIn($("scatter"), 520);
    plot = frame($("scatter"), {
      width: room, height: room, x: area, y: area, xTitle: `${choose.metric.value} of ${a}`, yTitle: `${choose.metric.value} of ${b}`,
      label: `${choose.metric.value} of ${b} against ${a}, ${points.length} queries. Arrow keys move between queries, Enter opens one.`,
    });
    plot.root.setAttribute("tabindex", "0");
    plot.root.setAttribute("role", "application");
    svg("line", { class: "diagonal", x1: plot.sx(area[0]), y1: plot.sy(area[0]), x2: plot.sx(area[1]), y2: plot.sy(area[1]) }, plot.root);
    for (const p of points) {
      p.px = plot.sx(p.x);
      p.py = plot.sy(p.y);
      svg("circle", { class: `dot ${side(p)}`, cx: p.px, cy: p.py, r: 4.2, "data-q": p.q }, plot.root);
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
    plot.root.addEventListener("keydown", onKey);
    tally();
    if (current) current = points.find((p) => p.q === current.q) || null;
    list();
    if (current && !$("drill").hidden) open(current, false); else ring(current);
  };
  const change = () => { most = step; draw(); };
  for (const control of [...Object.values(choose), narrow.segment, narrow.length]) control.addEventListener("change", change);
  narrow.text.addEventListener("input", change);
  $("order").addEventListener("change", () => { most = step; list(); });
  $("swap").addEventListener("click", () => {
    [choose.a.value, choose.b.value] = [choose.b.value, choose.a.value];
    draw();
  });
  $("copy").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      $("copy").textContent = "Link copied";
    } catch {
      $("copy").textContent = "The link is in the address bar";
    }
  });

  // A link to a query: #q=...&a=...&b=...&metric=...
  const restore = () => {
    if (!location.hash.startsWith("#q=")) return;
    const asked = {};
    for (const part of location.hash.slice(1).split("&")) {
      const [key, value = ""] = part.split("=");
      try { asked[key] = decodeURIComponent(value); } catch { return; }
    }
    const q = data.queries.findIndex((name, i) => name === asked.q && (!asked.fold || data.folds[data.fold[i]] === asked.fold));
    if (q < 0) return;
    for (const side of ["a", "b"]) {
      const i = data.models.findIndex((model) => model.name === asked[side]);
      if (i >= 0) choose[side].value = i;
    }
    if (data.metrics.includes(asked.metric)) choose.metric.value = asked.metric;
    narrow.text.value = narrow.segment.value = narrow.length.value = "";
    draw();
    const p = points.find((point) => point.q === q);
    if (p) open(p, true);
  };
  draw();
  restore();
  addEventListener("hashchange", restore);
};
