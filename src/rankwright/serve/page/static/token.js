// The token: asked for when the service wants one, kept for this tab.

import { token } from "./api.js";
import { $ } from "./dom.js";

const form = $("token-form");
const field = $("token");
const button = $("token-button");

export const tokenPart = (retry) => {
  let awaited = false; // whether the next answer tells if the token is right
  const show = (open) => {
    form.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
  };
  const complain = (text) => {
    $("token-error").textContent = text;
    $("token-error").hidden = !text;
  };
  const use = (value) => {
    token.set(value);
    field.value = "";
    awaited = true;
    complain("");
    retry();
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const value = field.value.trim();
    if (/^[\x21-\x7e]+$/.test(value)) use(value);
    else complain("A token has letters, digits and signs of ASCII, and no spaces.");
  });
  $("token-forget").addEventListener("click", () => use(""));
  button.addEventListener("click", () => {
    show(form.hidden);
    if (!form.hidden) field.focus();
  });
  return {
    wanted: (error) => {
      const first = form.hidden;
      awaited = true;
      show(true);
      complain(token.get() ? error.message : "This service asks for a token.");
      if (first) field.focus();
    },
    accepted: () => {
      if (!awaited) return;
      awaited = false;
      const inside = form.contains(document.activeElement);
      show(false);
      if (inside) button.focus();
    },
  };
};
