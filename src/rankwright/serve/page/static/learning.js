// Loss so far beside what theory guarantees.

import { $, clear, el } from "./dom.js";
import { chart } from "./chart.js";
import { count, number, percent } from "./format.js";

const terms = (promise) => {
  const list = $("promise-terms");
  clear(list);
  const { loss, ...others } = promise.terms;
  for (const [name, value] of Object.entries({ ...others, loss: promise.loss, bound: promise.bound })) {
    el("dt", {}, list, name);
    el("dd", {}, list, number(value, 5));
  }
};

const words = (promise, serving) => {
  $("promise").hidden = !promise || promise.bound === null;
  $("no-promise").hidden = !$("promise").hidden;
  if (!promise || promise.bound === null) {
    $("no-promise").textContent = promise?.reason
      ? `There is no bound: ${promise.reason}`
      : `${serving ? `A ${serving.kind}` : "Nothing"} does not learn: there is no loss to add up, and no bound.`;
    return;
  }
  $("promise-name").textContent = promise.name;
  // What the names in the formula stand for comes on lines of its own.
  $("promise-formula").textContent = `${promise.quantity} ≤ ${promise.formula}`.replaceAll(/, (?=\w+ = )/g, "\n");
  terms(promise);
};

export const learningPart = () => {
  const draw = chart($("loss"));
  return ({ line, promise, serving }) => {
    words(promise, serving);
    $("loss").hidden = !line.learned.length;
    if (!line.learned.length) return;
    const lines = [{ name: "loss", kind: "loss", values: line.loss, area: true }];
    if (line.bound.some((v) => v !== null)) lines.unshift({ name: "bound", kind: "bound", values: line.bound });
    const [loss, bound, learned] = [line.loss.at(-1), line.bound.at(-1), line.learned.at(-1)];
    const beside = bound === null ? "there is no bound" : `the bound is ${number(bound)}, of which that is ${percent(loss / bound, 0)}`;
    draw({
      x: line.learned, lines, height: 270, xTitle: "events learned", yTitle: promise?.quantity || "cumulative loss",
      caption: "Cumulative loss beside its bound", xText: (n) => `after ${count(n)} events`,
      label: `Cumulative loss after ${count(learned)} events: ${number(loss)}; ${beside}.`,
    });
  };
};
