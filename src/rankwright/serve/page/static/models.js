// The models, and who serves.

import { ask } from "./api.js";
import { confirmed } from "./confirm.js";
import { $, el, focusKey, part, table } from "./dom.js";
import { count, date, percent } from "./format.js";

const FALLEN = "What it learned so far is kept; it goes on from there if it is served again.";

// The experiment that runs, less the figures that change all the time.
const arms = (experiments) => {
  const found = experiments.find((e) => e.running);
  return found ? { share: found.share, a: { model: found.a.model }, b: { model: found.b.model } } : null;
};

// What a model does now, in a word.
const roles = (model, running) => {
  if (!running) return model.serving ? [["serving", "good"]] : [];
  const arms = ["a", "b"].filter((arm) => running[arm].model === model.model);
  const share = { a: 1 - running.share, b: running.share };
  return arms.map((arm) => [`${arm}, ${percent(share[arm], 0)}`, "good"]);
};

export const modelsPart = (changed) => {
  const change = async (model, path, body, words) => {
    const done = await confirmed(...words, () => ask(path, { method: "POST", body }));
    if (done) await changed(`Model ${model.model} is served.`);
    focusKey($("models"), `promote ${model.model}`, $("models-title"));
  };
  const promote = (model, running) => change(model, "/v1/models/promote", { model: model.model }, [
    `Serve model ${model.model}?`,
    `Every ranking from now on is by ${model.kind} ${model.version}${running ? "; the experiment that runs is ended" : ""}. ${FALLEN}`,
    "Promote",
  ]);
  const back = (model, served) => change(model, `/v1/models/rollback?leave=${served}`, {}, [
    `Roll back to model ${model.model}?`,
    `Every ranking from now on is by ${model.kind} ${model.version}, which was served before. ${FALLEN}`,
    "Roll back",
  ]);
  const draw = part($("models"), (node, { models, previous, served, running }) => {
    const body = table(node, "Models, newest first", [
      "model", "kind", "note", "added", ["learned", "n"], ["skipped", "n"], "file", ["", "hide"],
    ]);
    for (const model of [...models].reverse()) {
      const row = el("tr", model.serving ? { class: "serving" } : {}, body);
      const head = el("th", { scope: "row" }, row, model.version);
      for (const [text, kind] of roles(model, running)) el("span", { class: `badge ${kind}` }, head, text);
      el("td", {}, row, model.kind);
      el("td", { class: "note" }, row, model.note);
      el("td", {}, row, date(model.added));
      el("td", { class: "n" }, row, model.learns ? count(model.learned) : "fixed");
      el("td", { class: "n" }, row, model.learns ? count(model.skipped) : "–");
      const digest = el("td", {}, row);
      el("code", { title: model.digest }, digest, model.digest.slice(0, 10));
      const cell = el("td", { class: "act" }, row);
      if (model.serving && !running) continue;
      const last = model.model === previous && !running;
      const button = el("button", { type: "button", "data-key": `promote ${model.model}` }, cell, last ? "Roll back" : "Promote");
      button.setAttribute("aria-label", last ? `Roll back to model ${model.model}` : `Promote model ${model.model}`);
      button.addEventListener("click", () => (last ? back(model, served) : promote(model, running)));
    }
  });
  return ({ models, previous, serving, experiments }) => draw({ models, previous, served: serving?.model, running: arms(experiments) });
};
