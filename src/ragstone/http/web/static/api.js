// The server's operations, by the same addresses that the Python client uses.
import { page, update } from "./lib.js";
import { t } from "./words.js";

const KEY = "ragstone.credential";

// The server may be below a path of a site.
export const address = (path) => new URL(`..${path}`, import.meta.url);

export class ApiError extends Error {
  constructor(message, code, retry, status) {
    super(message);
    Object.assign(this, { code, retry, status });
  }
}

export function credential() {
  return sessionStorage.getItem(KEY) || "";
}

// Ask the server who we are. A credential is kept for this tab if the server knows it; else this raises why not.
export async function enter(given) {
  const before = credential();
  if (given !== undefined) sessionStorage.setItem(KEY, given);
  try {
    const session = await request("/local/operations");
    // Guests get an answer too, whatever they send: a key that is none makes nobody else of them.
    if (given && !session.caller.key) throw new ApiError(t("This key is unknown here. Check it, or ask an administrator for a new one."), "unauthorized", false, 401);
    update({ session, signsIn: false });
  } catch (error) {
    if (given !== undefined) sessionStorage.setItem(KEY, before);
    throw error;
  }
}

// End the session on the server too: a copy of it counts no longer.
export async function leave() {
  await request("/sign-out", { method: "POST" });
  sessionStorage.removeItem(KEY);
  update({ session: null, signsIn: true });
}

// Whether the server lets this caller do something.
export function may(operation) {
  return Boolean(page.session?.operations[operation]);
}

export function isAdmin() {
  const caller = page.session?.caller;
  return Boolean(caller?.key) && caller.role === "admin";
}

// Whether somebody with an account is signed in, rather than a key.
export function isPerson() {
  return Boolean(page.session?.caller.key.startsWith("person:"));
}

export function principal() {
  return page.session.caller.principal;
}

export async function request(path, options = {}) {
  const headers = { ...options.headers };
  if (credential()) headers.authorization = `Bearer ${credential()}`;
  let body = options.body;
  if (options.json !== undefined) {
    headers["content-type"] = "application/json";
    body = JSON.stringify(options.json);
  }
  let response;
  try {
    response = await fetch(address(path), { method: options.method || "GET", headers, body, signal: options.signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("offline", "offline", true, 0);
  }
  if (!response.ok) throw await failure(response);
  if (options.raw) return response;
  const type = response.headers.get("content-type") || "";
  return type.startsWith("application/json") ? response.json() : response.text();
}

// What a proxy answers in the place of the server.
function unexplained(status) {
  return t("The server answered with status {status}. Try again in a moment.", { status });
}

async function failure(response) {
  let said = {};
  try { said = (await response.json()).error || {}; } catch { /* A proxy says it in its own way. */ }
  const error = new ApiError(said.message || unexplained(response.status), said.code || "error", Boolean(said.retry), response.status);
  if (response.status === 401 && page.session) update({ signsIn: credential() ? error : true });
  return error;
}

function body(name, given) {
  const operation = page.session.operations[name];
  if (!operation) throw new ApiError(`Your credential does not allow ${name}.`, "forbidden", false, 403);
  const own = {};
  if (operation.arguments.includes("principal")) own.principal = principal();
  if (operation.arguments.includes("tenant")) own.tenant = principal().tenant;
  return {
    method: "POST",
    json: { ...own, ...given },
    headers: { "x-ragstone-operation": operation.fingerprint },
  };
}

export async function call(name, given = {}, signal) {
  return request(`/local/call/${name}`, { ...body(name, given), signal });
}

// The items of an operation that streams; raises what the server says went wrong.
export async function* stream(name, given = {}, signal) {
  const response = await request(`/local/call/${name}`, { ...body(name, given), signal, raw: true });
  for await (const event of events(response)) {
    if (event.name === "end") return;
    if (event.name === "error") throw new ApiError(event.data.message, event.data.code, event.data.retry, 0);
    yield event.data;
  }
  throw new ApiError("lost", "lost", true, 0);
}

async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    let part;
    try { part = await reader.read(); }
    catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ApiError("lost", "lost", true, 0);
    }
    if (part.done) return;
    text += part.value;
    let end;
    while ((end = text.indexOf("\n\n")) >= 0) {
      const event = { name: "", data: null };
      for (const line of text.slice(0, end).split("\n")) {
        if (line.startsWith("event: ")) event.name = line.slice(7);
        else if (line.startsWith("data: ")) event.data = JSON.parse(line.slice(6));
      }
      text = text.slice(end + 2);
      // Comments keep the connection alive, and say nothing.
      if (event.name || event.data !== null) yield event;
    }
  }
}

// Send a file; XMLHttpRequest, because fetch does not say how much of it has gone.
export function upload(file, sent, signal) {
  return new Promise((resolve, reject) => {
    const form = new FormData();
    form.append("file", file, file.name);
    const xhr = new XMLHttpRequest();
    xhr.open("POST", address("/local/upload"));
    if (credential()) xhr.setRequestHeader("authorization", `Bearer ${credential()}`);
    xhr.upload.onprogress = (event) => event.lengthComputable && sent(event.loaded / event.total);
    xhr.onload = () => {
      let said;
      try { said = JSON.parse(xhr.responseText); } catch { said = {}; }
      if (xhr.status === 200) return resolve(said.file);
      const error = said.error || {};
      return reject(new ApiError(error.message || unexplained(xhr.status),
        error.code, error.retry, xhr.status));
    };
    xhr.onerror = () => reject(new ApiError("offline", "offline", true, 0));
    xhr.onabort = () => reject(new DOMException("", "AbortError"));
    signal?.addEventListener("abort", () => xhr.abort());
    xhr.send(form);
  });
}
