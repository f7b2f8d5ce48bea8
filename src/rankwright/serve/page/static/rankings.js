// The last rankings; one opens with its documents and why they stand where they stand.

import { ask } from "./api.js";
import { $, clear, el, part, svg, table } from "./dom.js";
import { clock, number, plural } from "./format.js";

const list = (node, rankings, open, now) => {
  if (!rankings.length) { el("p", { class: "muted" }, node, "No ranking has been logged."); return; }
  const body = table(node, "Last rankings", ["time", "query", "by", ["documents", "n"], "first"]);
  for (const ranking of rankings) {
    const row = el("tr", ranking.ranking_id === now ? { class: "now" } : {}, body);
    el("td", {}, row, clock(ranking.at));
    const head = el("th", { scope: "row" }, row);
    const button = el("button", { type: "button", class: "link", "data-key": ranking.ranking_id, "aria-expanded": String(ranking.ranking_id === now) }, head, ranking.query || "(no name)");
    button.addEventListener("click", () => open(ranking));
    el("td", {}, row, ranking.arm ? `${ranking.version} (${ranking.arm})` : ranking.version);
    el("td", { class: "n" }, row, String(ranking.n_documents));
    el("td", { class: "first" }, row, ranking.documents.map((d) => d.id).join(", "));
  }
};

const bar = (parent, value, most) => {
  const root = svg("svg", { class: "bar", viewBox: "0 0 120 12", width: 120, height: 12, "aria-hidden": "true" }, parent);
  const width = (Math.abs(value) / most) * 58;
  svg("line", { x1: 60, x2: 60, y1: 0, y2: 12 }, root);
  svg("rect", { class: value < 0 ? "b" : "a", x: value < 0 ? 60 - width : 60, width, y: 2, height: 8 }, root);
};

const reasons = (node, document, by) => {
  clear(node);
  if (!document.explanation) return;
  const entries = Object.entries(document.explanation);
  if (document.rest) entries.push(["all others", document.rest]);
  const most = Math.max(...entries.map(([, value]) => Math.abs(value)), 1e-300);
  const body = table(node, `What ${by} adds up for ${document.id}: ${number(document.explained, 5)}`, ["feature", "", ["adds", "n"]], { class: "why" });
  for (const [name, value] of entries) {
    const row = el("tr", {}, body);
    el("th", { scope: "row" }, row, name);
    bar(el("td", {}, row), value, most);
    el("td", { class: "n" }, row, number(value, 4));
  }
};

const documents = (node, found) => {
  const side = el("div", { class: "reasons" });
  const body = table(node, `Ranked by ${found.version}${found.arm ? `, arm ${found.arm}` : ""}, ${plural(found.n_documents, "document")}`, [["rank", "n"], "document", ["score", "n"]]);
  const choose = (one, row) => {
    for (const other of body.rows) other.classList.toggle("now", other === row);
    reasons(side, one, found.explained_by);
  };
  for (const one of found.documents) {
    const row = el("tr", {}, body);
    el("td", { class: "n" }, row, String(one.rank));
    const head = el("th", { scope: "row" }, row);
    if (one.explanation) {
      const button = el("button", { type: "button", class: "link" }, head, one.id);
      button.addEventListener("click", () => choose(one, row));
    } else head.textContent = one.id;
    el("td", { class: "n" }, row, number(one.score, 5));
  }
  if (found.n_documents > found.documents.length) el("p", { class: "fine" }, node, `and ${plural(found.n_documents - found.documents.length, "more document")}.`);
  if (found.reason) el("p", { class: "fine" }, node, found.reason);
  node.append(side);
  if (found.documents[0]?.explanation) choose(found.documents[0], body.rows[0]);
};

export const rankingsPart = () => {
  const box = $("ranking");
  let now = null;
  let latest = [];
  const close = () => { now = null; box.hidden = true; };
  const open = async (ranking) => {
    if (now === ranking.ranking_id) { close(); draw([latest, now]); return; }
    now = ranking.ranking_id;
    draw([latest, now]);
    $("ranking-title").textContent = `Query ${ranking.query}`;
    const inside = $("ranking-content");
    clear(inside);
    el("p", { class: "muted" }, inside, "…");
    box.hidden = false;
    try {
      const found = await ask(`/v1/rankings/${encodeURIComponent(ranking.ranking_id)}`);
      if (now !== ranking.ranking_id) return;
      clear(inside);
      documents(inside, found);
    } catch (error) {
      clear(inside);
      el("p", { class: "error" }, inside, error.message);
    }
    $("ranking-title").focus({ preventScroll: true });
  };
  const draw = part($("rankings"), (node, [rankings, chosen]) => list(node, rankings, open, chosen));
  $("ranking-close").addEventListener("click", () => {
    const key = now;
    close();
    draw([latest, now]);
    [...$("rankings").querySelectorAll("[data-key]")].find((node) => node.dataset.key === key)?.focus();
  });
  // Held still while somebody reads one: a list that moves cannot be pointed at.
  return ({ rankings }) => {
    if (now !== null || $("rankings").matches(":hover") || $("rankings").contains(document.activeElement)) return;
    latest = rankings;
    draw([latest, now]);
  };
};
