// A web page's two ways to read a stream: fetch, and the browser's own EventSource.

const NAMES = ["message", "progress", "done", "failed", "cancelled"];

async function fetched(url, request = {}, most = Infinity) {
  const leaving = new AbortController();
  const response = await fetch(url, { ...request, signal: leaving.signal });
  const found = {
    status: response.status,
    type: response.headers.get("content-type"),
    headers: Object.fromEntries(response.headers),
    chunks: 0,
    events: [],
    broken: "",
  };
  if (!found.type.startsWith("text/event-stream")) return { ...found, json: await response.json() };
  try {
    for await (const event of events(response.body, found)) {
      found.events.push(event);
      if (found.events.length >= most) break;
    }
  } catch (error) {
    found.broken = error.name;
  }
  leaving.abort();
  return found;
}

async function* events(body, found) {
  const reader = body.pipeThrough(new TextDecoderStream("utf-8", { fatal: true })).getReader();
  let unread = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    found.chunks += 1;
    const parts = (unread + value).split("\n\n");
    unread = parts.pop();
    yield* parts.map(parsed);
  }
}

function parsed(text) {
  const fields = text.split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2));
  return { name: "message", ...Object.fromEntries(fields.map(([k, v]) => [k === "event" ? "name" : k, v])) };
}

// Everything until the stream ends, or its first events; `state` is that of the source then.
function sourced(url, most = Infinity) {
  return new Promise((resolve) => {
    const source = new EventSource(url);
    const found = { opened: 0, events: [] };
    const end = () => {
      const { readyState } = source;
      source.close();
      resolve({ ...found, state: readyState });
    };
    source.onopen = () => (found.opened += 1);
    source.onerror = () => most === Infinity || source.readyState === EventSource.CLOSED ? end() : null;
    for (const name of NAMES)
      source.addEventListener(name, ({ data }) => {
        found.events.push({ name, data });
        if (found.events.length >= most) end();
      });
  });
}

// EventSource only gets; a service worker lets it read the answer to any request.
async function answering() {
  await navigator.serviceWorker.register("worker.js");
  if (!navigator.serviceWorker.controller)
    await new Promise((resolve) => (navigator.serviceWorker.oncontrollerchange = resolve));
}

function sourcedFor(url, request, most) {
  return sourced("answer?" + encodeURIComponent(JSON.stringify({ url, request })), most);
}
