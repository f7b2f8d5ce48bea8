// The page: asks for the overview and hands it to its parts.

import { answersPart } from "./answers.js";
import { $, say } from "./dom.js";
import { driftPart } from "./drift.js";
import { experimentsPart } from "./experiments.js";
import { bytes, clock, count } from "./format.js";
import { learningPart } from "./learning.js";
import { modelsPart } from "./models.js";
import { pacePart } from "./pace.js";
import { poll } from "./poll.js";
import { rankingsPart } from "./rankings.js";
import { themePart } from "./theme.js";
import { tokenPart } from "./token.js";

const announce = (text) => say($("announce"), text);
const STILL = 8000; // ms after which the same figures are old ones: the store keeps the service waiting
let lostAt = null;
let fresh = { at: 0, since: 0 };

const connection = (mood, text) => {
  $("connection").dataset.mood = mood;
  say($("connection-text"), text);
};
const title = ({ serving, experiments }) => {
  const text = serving ? `${serving.kind} ${serving.version}` : "Nothing is served";
  say($("title"), text);
  const running = experiments.find((e) => e.running);
  const shares = running ? `shares the queries: a is model ${running.a.model}, b is model ${running.b.model}` : "";
  say($("note"), [serving?.note, shares].filter(Boolean).join(" · "));
  document.title = `${text} · rankwright`;
};
const footer = ({ store, library }) => {
  say($("library"), `rankwright ${library}`);
  say($("store"), `The log has ${count(store.events)} events of feedback and ${count(store.rankings)} rankings in ${bytes(store.n_bytes)}; ${count(store.waiting)} wait to be written.`);
};

let now = async () => {};
const changed = async (text) => {
  announce(text);
  await now();
};
themePart();
const access = tokenPart(() => now());
const parts = [
  title, answersPart($("answers")), learningPart(), pacePart(), modelsPart(changed), experimentsPart(changed), driftPart(), rankingsPart(), footer,
];

now = poll("/v1/overview", {
  seen: (overview) => {
    if (lostAt !== null) announce("Connected again.");
    lostAt = null;
    if (overview.at !== fresh.at) fresh = { at: overview.at, since: Date.now() };
    if (Date.now() - fresh.since < STILL) connection("good", "Live");
    else connection("warn", `Figures of ${clock(overview.at)}`);
    access.accepted();
    $("main").hidden = false;
    $("main").classList.remove("stale");
    for (const show of parts) show(overview);
    document.documentElement.dataset.ready = "yes";
  },
  lost: (error) => {
    if (lostAt === null) {
      lostAt = Date.now() / 1000;
      announce("No connection to the service.");
    }
    connection("bad", `No connection since ${clock(lostAt)}`);
    $("connection").title = error.message;
    $("main").classList.add("stale");
  },
  locked: (error) => {
    connection("warn", "Needs a token");
    $("main").classList.add("stale");
    access.wanted(error);
    document.documentElement.dataset.ready = "locked";
  },
});
now();
