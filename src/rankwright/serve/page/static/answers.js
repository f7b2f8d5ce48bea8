// Five questions and their answers: the first thing a reader sees.

import { el } from "./dom.js";
import { bytes, count, ms, number, percent, plural, signed, span } from "./format.js";

const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : 0);

const up = ({ store, pace, at, started }) => {
  if (!store.healthy) return { mood: "bad", answer: "The store is not", detail: store.error };
  const rate = mean(pace.rankings.slice(-10));
  const rank = pace.routes.find((route) => route.route === "POST /v1/rank");
  const speed = rank && rank.p99 !== null ? `, p99 ${ms(rank.p99)}` : "";
  const lost = store.dropped ? ` ${plural(store.dropped, "ranking was", "rankings were")} not logged.` : "";
  return {
    mood: store.dropped ? "warn" : "good", answer: `Yes, for ${span(at - started)}`,
    detail: `${number(rate, 3)} rankings a second${speed}. ${bytes(store.n_bytes)} on disk.${lost}`,
  };
};

const LATE = 1000; // events behind at which a reader should know

const learning = ({ serving }) => {
  if (!serving) return { mood: "none", answer: "Nothing is served", detail: "" };
  if (!serving.learns) return { mood: "none", answer: "No, it is fixed", detail: `A ${serving.kind} is served as it is.` };
  const skipped = serving.skipped ? `, ${count(serving.skipped)} could not be learned` : "";
  const detail = `${plural(serving.learned, "event")} learned${skipped}.`;
  if (serving.behind >= LATE) return { mood: "warn", answer: `Yes, ${count(serving.behind)} behind`, detail };
  if (!serving.learned) return { mood: "none", answer: "Not yet", detail: "No feedback so far." };
  return { mood: "good", answer: "Yes", detail: serving.behind ? `${detail} ${count(serving.behind)} wait.` : detail };
};

const within = ({ promise }) => {
  if (!promise) return { mood: "none", answer: "No bound", detail: "A model that does not learn has none." };
  if (promise.bound === null) return { mood: "none", answer: "No bound", detail: promise.reason };
  const share = promise.bound > 0 ? promise.loss / promise.bound : promise.loss > 0 ? Infinity : 0;
  const detail = `Loss ${number(promise.loss)} of at most ${number(promise.bound)}.`;
  // Above by rounding alone is not above.
  if (share > 1 + 1e-9) return { mood: "bad", answer: "No, it is broken", detail };
  return { mood: "good", answer: `Yes, at ${percent(share, 0)}`, detail };
};

const better = ({ experiments }) => {
  const now = experiments.find((e) => e.running) ?? experiments.at(-1);
  if (!now) return { mood: "none", answer: "Nothing is compared", detail: "Begin an experiment below." };
  if (now.low === null) return { mood: "none", answer: "Not certain yet", detail: now.verdict };
  const range = `${signed(now.low)} to ${signed(now.high)}`;
  const detail = `NDCG@10 of model ${now.b.model} less model ${now.a.model}: ${range}.`;
  if (!now.certain) return { mood: "none", answer: now.running ? "Not certain yet" : "It stayed open", detail };
  return { mood: "good", answer: `Model ${(now.difference > 0 ? now.b : now.a).model}, certainly`, detail };
};

const drifted = ({ drift }) => {
  if (!drift.features.length) return { mood: "none", answer: "Not known yet", detail: drift.reason };
  const detail = `Of ${plural(drift.n_features, "feature")}, against ${drift.reference}.`;
  if (drift.n_drifted) return { mood: "warn", answer: `${plural(drift.n_drifted, "feature")}`, detail: `${detail} First: ${drift.features[0].name}.` };
  if (drift.n_moved) return { mood: "good", answer: `Slightly, ${plural(drift.n_moved, "feature")}`, detail };
  return { mood: "good", answer: "No", detail };
};

const questions = [
  ["Is it up?", up],
  ["Is it learning?", learning],
  ["Is it within its guarantee?", within],
  ["Which version is better?", better],
  ["Has the data drifted?", drifted],
];
const signs = { good: "✓", warn: "!", bad: "✕", none: "–" };

export const answersPart = (list) => {
  const tiles = questions.map(([question, reply]) => {
    const tile = el("li", { class: "tile" }, list);
    el("h2", {}, tile, question);
    const line = el("p", { class: "answer" }, tile);
    const sign = el("span", { class: "sign", "aria-hidden": "true" }, line);
    const answer = el("span", {}, line);
    return { reply, tile, sign, answer, detail: el("p", { class: "detail" }, tile) };
  });
  return (data) => {
    for (const { reply, tile, sign, answer, detail } of tiles) {
      const found = reply(data);
      tile.dataset.mood = found.mood;
      sign.textContent = signs[found.mood];
      answer.textContent = found.answer;
      detail.textContent = found.detail;
    }
  };
};
