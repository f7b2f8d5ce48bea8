// What passes through, and how fast.

import { $, el, part, table } from "./dom.js";
import { chart } from "./chart.js";
import { count, ms, number } from "./format.js";

const ago = (n) => Array.from({ length: n }, (_, i) => i - n + 1);
const second = (t) => (t === 0 ? "the last second" : `${-t} s ago`);
const most = (values) => values.reduce((a, b) => Math.max(a, b ?? 0), 0);
const latest = (values) => values.findLast((v) => v !== null) ?? null;

const routes = (node, found) => {
  const body = table(node, "Latency by route", ["route", ["requests", "n"], ["p50", "n"], ["p95", "n"], ["p99", "n"]]);
  for (const { route, requests, p50, p95, p99 } of found) {
    const row = el("tr", {}, body);
    el("th", { scope: "row" }, row, route);
    el("td", { class: "n" }, row, count(requests));
    for (const value of [p50, p95, p99]) el("td", { class: "n" }, row, ms(value));
  }
};

export const pacePart = () => {
  const rates = chart($("rates"));
  const latencies = chart($("latencies"));
  const list = part($("routes"), routes);
  return ({ pace }) => {
    const { rankings, feedback } = pace;
    rates({
      x: ago(rankings.length), xTitle: "seconds", yTitle: "a second", caption: "Rankings and feedback a second", xText: second,
      lines: [{ name: "rankings", kind: "c0", values: rankings }, { name: "feedback", kind: "c2", values: feedback }],
      label: `Rankings a second: ${number(rankings.at(-1))}, at most ${number(most(rankings))} in the last minute. `
        + `Feedback a second: ${number(feedback.at(-1))}, at most ${number(most(feedback))}.`,
    });
    const lines = ["p50", "p95", "p99"].map((name, i) => ({ name, kind: ["c6", "c0", "c1"][i], values: pace[name] }));
    latencies({
      x: ago(pace.p50.length), lines, xTitle: "seconds", yTitle: "ms a request to rank, over 5 s", caption: "Latency of rankings in ms", xText: second,
      label: `Latency of rankings: ${lines.map((line) => `${line.name} ${ms(latest(line.values))}`).join(", ")}.`,
    });
    list(pace.routes);
    $("worker").textContent = pace.worker;
  };
};
