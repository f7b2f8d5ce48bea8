// Light, dark, or as the system.

import { $ } from "./dom.js";

const KEY = "rankwright.theme";
const names = ["auto", "light", "dark"];
const button = $("theme");
let now = "auto";

const set = (name) => {
  now = names.includes(name) ? name : "auto";
  if (now === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = now;
  button.textContent = `Theme: ${now}`;
  button.setAttribute("aria-label", `Colours: ${now === "auto" ? "as the system" : now}`);
};

export const themePart = () => {
  set(localStorage.getItem(KEY));
  button.addEventListener("click", () => {
    set(names[(names.indexOf(now) + 1) % names.length]);
    localStorage.setItem(KEY, now);
  });
};
