const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const make = (space) => (tag, attributes = {}, parent = null, text = null) => {
  const node = space ? document.createElementNS(space, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== null) node.textContent = text;
  if (parent) parent.append(node);
  return node;
};
const el = make(null);
const svg = make(SVG);
const clear = (node) => { while (node.firstChild) node.firstChild.remove(); };
const fixed = (value, digits = 4) => (value === null ? "–" : value.toFixed(digits));
const signed = (value, digits = 3) => {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : (value > 0 ? "+" : "") + text.replace("-", "−");
};

// ---- theme ----

const themes = ["auto", "light", "dark"];
const theme = $("theme");
const setTheme = (name) => {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  theme.dataset.now = name;
  theme.textContent = `Theme: ${name}`;
  theme.setAttribute("aria-label", `Colours: ${name === "auto" ? "as the system" : name}`);
};
theme.addEventListener("click", () => {
  setTheme(themes[(themes.indexOf(theme.dataset.now || "auto") + 1) % themes.length]);
});

// ---- sorting ----

// Groups, such as the baselines, stay apart; what has no value stands last.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.querySelectorAll("thead th")];
  for (const button of table.querySelectorAll("thead button")) {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const column = heads.indexOf(head);
      const numeric = head.classList.contains("n");
      const before = head.getAttribute("aria-sort");
      const falls = (before === "none" ? head.dataset.first : before === "ascending" ? "descending" : "ascending") === "descending";
      for (const other of heads) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", falls ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.v;
      const sign = falls ? -1 : 1;
      const compare = (a, b) => {
        if (!numeric) return sign * key(a).localeCompare(key(b));
        const [x, y] = [a, b].map((row) => (key(row) === "" ? NaN : Number(key(row))));
        return Number.isNaN(x) - Number.isNaN(y) || sign * (x - y) || 0;
      };
      for (const body of table.tBodies) body.append(...[...body.rows].sort(compare));
    });
  }
}

// ---- tooltip ----

const tip = $("tip");
const showTip = (lines, x, y) => {
  clear(tip);
  lines.forEach((line, i) => el(i ? "div" : "strong", {}, tip, line));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${y + box.height + 24 > innerHeight ? y - box.height - 12 : y + 14}px`;
};
const hideTip = () => { tip.hidden = true; };
