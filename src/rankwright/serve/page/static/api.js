// Requests to the service this page came from, and the token they carry.

const KEY = "rankwright.token";

// For this tab only, and never in an address.
export const token = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY)),
};

export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

const PATIENCE = 10_000;

export const ask = async (path, { method = "GET", body = undefined } = {}) => {
  const headers = { Accept: "application/json" };
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, {
    method, headers, body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store", credentials: "omit", redirect: "error", signal: AbortSignal.timeout(PATIENCE),
  });
  const found = await answer.json().catch(() => null);
  if (!answer.ok) throw new Refused(answer.status, found?.error ?? `the service answered ${answer.status}.`);
  return found;
};
