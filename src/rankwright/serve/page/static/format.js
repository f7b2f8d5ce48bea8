// Numbers, times and sizes as words.

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
export const count = (n) => grouped.format(n);
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

// So many digits that matter, never an exponent where a reader would have to count.
export const number = (value, digits = 3) => {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1e9 || (size > 0 && size < 1e-4)) return value.toExponential(2).replace("e+", "e").replace("-", "−");
  const text = size >= 1000 ? grouped.format(value) : String(Number(value.toPrecision(digits)));
  return text.replace("-", "−");
};
export const fixed = (value, digits) => (value === null ? "–" : value.toFixed(digits).replace("-", "−"));
export const signed = (value, digits = 4) => (value > 0 ? "+" : "") + fixed(value, digits);
export const percent = (share, digits = 1) => {
  if (share === null) return "–";
  const text = (100 * share).toFixed(digits);
  return share > 0 && Number(text) === 0 ? `< ${10 ** -digits} %` : `${Number(text)} %`;
};
export const ms = (value) => (value === null ? "–" : `${value < 9.95 ? value.toFixed(1) : count(value)} ms`);

export const bytes = (n) => {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let i = 0;
  while (n >= 1000 && i < units.length - 1) { n /= 1000; i += 1; }
  return `${i && n < 10 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
};

export const span = (seconds) => {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
};
export const clock = (at) => new Date(1000 * at).toLocaleTimeString("en-GB");
export const date = (at) => {
  const day = new Date(1000 * at);
  const two = (n) => String(n).padStart(2, "0");
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())} ${two(day.getHours())}:${two(day.getMinutes())}`;
};
