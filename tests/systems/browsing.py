"""What tests ask a browser: whether the focus is seen, and whether text stands out."""

from __future__ import annotations

FOCUS = """
() => {
  const e = document.activeElement;
  if (e === document.body) return true;
  const mark = e.querySelector(':scope > .mark'); // of a point, which has no outline
  if (mark) return parseFloat(getComputedStyle(mark).strokeWidth) >= 2;
  const style = getComputedStyle(e);
  return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
}
"""
CONTRAST = """
() => {
  const parse = c => (c.match(/[\\d.]+/g) || []).map(Number);
  const linear = v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = c => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const e of document.querySelectorAll('body *')) {
    const text = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!text || !e.checkVisibility() || e.closest('script, style, noscript')) continue;
    const style = getComputedStyle(e);
    const color = parse(e instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(color), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) bad.push([e.outerHTML.slice(0, 80), ratio]);
  }
  return bad;
}
"""
