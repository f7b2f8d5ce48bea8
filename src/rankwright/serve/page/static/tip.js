// A few lines beside the pointer.

import { $, clear, el } from "./dom.js";

const tip = $("tip");

export const showTip = (lines, x, y) => {
  clear(tip);
  lines.forEach((line, i) => el(i ? "div" : "strong", {}, tip, line));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${y + box.height + 24 > innerHeight ? y - box.height - 12 : y + 14}px`;
};
export const hideTip = () => { tip.hidden = true; };
