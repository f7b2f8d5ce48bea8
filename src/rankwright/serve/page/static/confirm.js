// A question before something changes: a dialog that stays open, and says why, if it was refused.

import { $ } from "./dom.js";

const dialog = $("confirm");
const no = $("confirm-no");
const yes = $("confirm-yes");
let act = null;

no.addEventListener("click", () => dialog.close(""));
yes.addEventListener("click", async () => {
  yes.disabled = true;
  $("confirm-error").hidden = true;
  try {
    await act();
    dialog.close("done");
  } catch (error) {
    $("confirm-error").textContent = error.message;
    $("confirm-error").hidden = false;
  } finally {
    yes.disabled = false;
  }
});

// Resolves to whether it was done. `change` is what is done then.
export const confirmed = (question, consequence, word, change) => new Promise((resolve) => {
  $("confirm-question").textContent = question;
  $("confirm-consequence").textContent = consequence;
  $("confirm-error").hidden = true;
  yes.textContent = word;
  act = change;
  dialog.returnValue = "";
  dialog.addEventListener("close", () => resolve(dialog.returnValue === "done"), { once: true });
  dialog.showModal();
});
