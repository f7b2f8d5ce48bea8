// Nodes. Whatever is shown is set as text, so that no id or note can be markup.

export const $ = (id) => document.getElementById(id);

const make = (space) => (tag, attributes = {}, parent = null, text = null) => {
  const node = space ? document.createElementNS(space, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== null) node.textContent = text;
  if (parent) parent.append(node);
  return node;
};
export const el = make(null);
export const svg = make("http://www.w3.org/2000/svg");
export const clear = (node) => node.replaceChildren();

// Sets a text only when it is another one: a live region speaks of changes, not of seconds.
export const say = (node, text) => {
  if (node.textContent !== text) node.textContent = text;
};

const byKey = (root, key) => [...root.querySelectorAll("[data-key]")].find((node) => node.dataset.key === key);
export const focusKey = (root, key, otherwise) => (byKey(root, key) ?? otherwise)?.focus();

// Calls only with what differs from the last time.
export const onChange = (act) => {
  let before;
  return (data) => {
    const text = JSON.stringify(data);
    if (text === before) return;
    before = text;
    act(data);
  };
};

// Draws a part anew when what it shows has changed, and leaves the focus where it was.
export const part = (node, draw) => onChange((data) => {
  const key = node.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  clear(node);
  draw(node, data);
  if (key !== undefined) byKey(node, key)?.focus({ preventScroll: true });
});

export const table = (parent, caption, heads, attributes = {}) => {
  const root = el("table", attributes, parent);
  el("caption", {}, root, caption);
  const row = el("tr", {}, el("thead", {}, root));
  for (const head of heads) {
    const [text, kind] = Array.isArray(head) ? head : [head, ""];
    const cell = el("th", { scope: "col", class: kind }, row);
    el("span", kind === "hide" ? { class: "visually-hidden" } : {}, cell, text);
  }
  return el("tbody", {}, root);
};
