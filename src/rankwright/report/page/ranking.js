// ---- why: what each feature adds ----

const reasonsPart = (data, bytes) => {
  const { n, systems, features, docs } = data.why;
  const begins = {};
  let count = 0;
  for (const [q, found] of Object.entries(docs)) { begins[q] = count; count += found.length; }
  const total = count * systems.length;
  const signedByte = (i) => (bytes[i] << 24) >> 24;
  // What a model says of a document: null if it was not asked, else its sum and reasons.
  return (q, doc, model) => {
    const k = systems.indexOf(model);
    const at = docs[q] ? docs[q].indexOf(doc) : -1;
    if (k < 0 || at < 0) return null;
    const record = (begins[q] + at) * systems.length + k;
    const sum = signedByte(record);
    if (sum === -128) return null;
    const found = new Map();
    for (let i = 0; i < n; i++) {
      const feature = bytes[total + record * n + i];
      if (feature < 255) found.set(features[k][feature], signedByte(total + total * n + record * n + i) / 20);
    }
    return { sum: sum / 20, found };
  };
};
const reasonTable = (parent, names, kinds, answers, largest) => {
  const table = el("table", { class: "why" }, el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Reasons" }, parent));
  const head = el("tr", {}, el("thead", {}, table));
  el("th", { scope: "col" }, head, "feature");
  names.forEach((name, i) => el("th", { scope: "col", class: `n ${kinds[i]}` }, head, name));
  if (names.length > 1) el("th", { scope: "col", class: "n" }, head, "difference");
  const body = el("tbody", {}, table);
  const row = (feature, values, kind = "") => {
    const tr = el("tr", { class: kind }, body);
    el("th", { scope: "row", title: feature }, tr, feature);
    values.forEach((value, i) => {
      const cell = el("td", { class: "n" }, tr);
      const bar = svg("svg", { viewBox: "-60 0 120 12", width: 120, height: 12, "aria-hidden": "true" }, cell);
      svg("line", { class: "zero", x1: 0, x2: 0, y1: 0, y2: 12 }, bar);
      if (value !== null) {
        const width = (58 * Math.min(Math.abs(value), largest)) / largest;
        svg("rect", { class: kinds[i], x: value < 0 ? -width : 0, y: 2, width, height: 8 }, bar);
      }
      el("span", {}, cell, value === null ? "small" : signed(value, 2));
    });
    if (values.length > 1) el("td", { class: "n" }, tr, values.includes(null) ? "" : signed(values[1] - values[0], 2));
  };
  const weight = (feature) => Math.max(...answers.map((a) => Math.abs(a.found.get(feature) ?? 0)));
  const all = [...new Set(answers.flatMap((a) => [...a.found.keys()]))].sort((x, y) => weight(y) - weight(x));
  for (const feature of all) row(feature, answers.map((a) => a.found.get(feature) ?? null));
  row("all other features", answers.map((a) => a.sum - [...a.found.values()].reduce((x, y) => x + y, 0)), "rest");
  row("score", answers.map((a) => a.sum), "sum");
};

// ---- one query: two ranked lists ----

const drillPart = (data, reasonsOf) => {
  const first = 10;
  let all = false;
  let shown = null;
  let chosen = null;
  const labels = data.lists.flatMap((list) => (list ? list.y : []));
  const highest = labels.reduce((a, b) => Math.max(a, b), 1);
  const chip = (y, parent) => {
    const grade = Math.max(0, Math.min(4, Math.round((4 * y) / highest)));
    return el("span", { class: `chip y${grade}`, title: `label ${y}` }, parent, String(y));
  };
  el("span", {}, $("labels"), "Labels:");
  for (const y of [...new Set(labels)].sort((a, b) => a - b).slice(0, 8)) chip(y, $("labels"));
  el("span", {}, $("labels"), `Lines join the same document.${data.why.systems.length ? " Choose a document to see why it stands there." : ""}`);

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
    if (chosen !== null) light(String(chosen));
  };
  const light = (doc) => {
    for (const node of $("lists").querySelectorAll("[data-doc]")) node.classList.toggle("lit", node.dataset.doc === doc);
  };
  const nameOf = (list, doc) => (list.d ? list.d[doc] : `document ${list.r[doc]}`);
  const explain = (doc) => {
    const { q, a, b } = shown;
    const list = data.lists[q];
    chosen = doc;
    for (const button of $("lists").querySelectorAll("li button")) {
      button.setAttribute("aria-pressed", String(Number(button.parentElement.dataset.doc) === doc));
    }
    light(String(doc));
    const box = $("reasons");
    clear(box);
    const rank = (model) => { const i = list.o[model].indexOf(doc); return i < 0 ? `below ${list.o[model].length}` : `${i + 1}`; };
    el("h4", {}, box, `Why ${nameOf(list, doc)} is number ${rank(a)} for ${data.models[a].name} and ${rank(b)} for ${data.models[b].name}`);
    const answers = [a, b].map((model) => reasonsOf(q, doc, model));
    if (!answers.some(Boolean)) {
      el("p", { class: "fine" }, box, data.why.docs[q] && data.why.docs[q].includes(doc)
        ? "Neither of these models tells what its features add."
        : "The page keeps reasons for the first documents only.");
      return;
    }
    const largest = Math.max(...answers.filter(Boolean).flatMap((x) => [x.sum, ...x.found.values()]).map(Math.abs), 0.5);
    const told = [0, 1].filter((i) => answers[i]); // a model that tells nothing has no column
    reasonTable(box, told.map((i) => data.models[[a, b][i]].name), told.map((i) => "ab"[i]), told.map((i) => answers[i]), largest);
    const silent = [a, b].filter((model, i) => !answers[i]).map((model) => data.models[model].name);
    el("p", { class: "fine" }, box, "By how much each feature lifts the document above the average document of this query, in standard deviations of the model's scores. "
      + (told.length > 1 ? "“small” is less than a model's five largest." : "")
      + (silent.length ? ` Nothing is known of ${silent.join(" and ")}.` : ""));
  };
  const column = (side, model, order, others, list, count, value) => {
    const box = el("div", { class: side }, $("lists"));
    const head = el("h4", { class: side === "left" ? "a" : "b" }, box);
    el("span", {}, head, data.models[model].name);
    head.append(" ");
    el("small", {}, head, fixed(value));
    const items = el("ol", { "aria-label": `Ranking by ${data.models[model].name}` }, box);
    const place = new Map(others.map((doc, i) => [doc, i + 1]));
    order.slice(0, count).forEach((doc, i) => {
      const li = el("li", { "data-doc": doc }, items);
      const button = el("button", { type: "button", "aria-pressed": "false" }, li);
      el("span", { class: "rank" }, button, String(i + 1));
      chip(list.y[doc], button);
      const text = nameOf(list, doc);
      el("span", { class: "name", title: text }, button, text);
      const there = place.get(doc);
      const move = there === undefined ? "" : there - (i + 1);
      const says = side === "left" ? (there === undefined ? "→ below" : there > count ? `→ ${there}` : "")
        : move === "" ? "new" : move > 0 ? `▲ ${move}` : move < 0 ? `▼ ${-move}` : "";
      el("span", { class: "move" }, button, says);
      button.addEventListener("click", () => explain(doc));
      button.addEventListener("focus", () => light(String(doc)));
      li.addEventListener("pointerenter", () => light(String(doc)));
      li.addEventListener("pointerleave", () => light(chosen === null ? null : String(chosen)));
    });
  };
  const draw = (focus) => {
    const { q, a, b, metric, title } = shown;
    const list = data.lists[q];
    $("drill").hidden = false;
    $("drill-title").textContent = title;
    clear($("lists"));
    clear($("reasons"));
    $("more").hidden = !list;
    $("labels").hidden = !list;
    if (!list) {
      $("drill-text").textContent = "The lists of this query are not in the page: the models agree on it more than on others.";
    } else {
      const values = data.values[metric];
      const length = list.o[a].length;
      const count = all ? length : Math.min(first, length);
      const size = data.lengths[q];
      $("drill-text").textContent = `${size} document${size === 1 ? "" : "s"}; ${metric} ${fixed(values[a][q])} and ${fixed(values[b][q])}.`;
      column("left", a, list.o[a], list.o[b], list, count, values[a][q]);
      svg("svg", { "aria-hidden": "true", height: "100%" }, el("div", { class: "between" }, $("lists")));
      column("right", b, list.o[b], list.o[a], list, count, values[b][q]);
      $("more").hidden = length <= first;
      $("more").textContent = all ? `Show the first ${first}` : `Show all ${length}`;
      links();
      if (chosen !== null) explain(chosen);
    }
    if (focus) {
      $("drill-title").focus({ preventScroll: true });
      $("drill").scrollIntoView({ block: "nearest" });
    }
  };
  $("more").addEventListener("click", () => { all = !all; draw(false); });
  new ResizeObserver(links).observe($("lists"));
  return (q, a, b, metric, title, focus) => {
    if (!shown || shown.q !== q) chosen = null;
    shown = { q, a, b, metric, title };
    draw(focus);
  };
};
