// Asks again and again, while somebody looks.

import { Refused, ask } from "./api.js";

const EVERY = 2000;

// `seen(overview)`, `lost(error)` and `locked(error)` are called; the last when a token is needed,
// and then nothing more is asked until `now()`.
export const poll = (path, { seen, lost, locked }) => {
  let timer = 0;
  let turn = 0;
  const again = () => {
    clearTimeout(timer);
    timer = document.hidden ? 0 : setTimeout(now, EVERY);
  };
  const now = async () => {
    clearTimeout(timer);
    const mine = ++turn; // an answer that was overtaken is dropped
    let found;
    try {
      found = await ask(path);
    } catch (error) {
      if (mine !== turn) return;
      if (error instanceof Refused && (error.status === 401 || error.status === 403)) {
        locked(error);
        return;
      }
      lost(error);
      again();
      return;
    }
    if (mine !== turn) return;
    again();
    seen(found);
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) clearTimeout(timer);
    else now();
  });
  return now;
};
