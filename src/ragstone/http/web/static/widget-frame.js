// The page of the widget, framed in a site's own: a question, its answer, and where that stands.
import { html, newId, render, useEffect, useLayoutEffect, useRef, useState } from "./lib.js";
import { Markdown } from "./markdown.js";
import { Icon } from "./ui.js";
import { LANGUAGES, percent, preferred, speak, t } from "./words.js";

const id = /([0-9a-f]{16})$/.exec(location.pathname)[1];
const look = new URLSearchParams(location.hash.slice(1));
const floats = look.get("floats") === "1";
const MOST_SAID = 10; // Earlier messages that go along with a question.

let session = { secret: "", until: 0 };

async function secret(afresh = false) {
  if (afresh || Date.now() > session.until - 60_000) {
    const response = await fetch(`${id}/session`, { method: "POST" });
    if (!response.ok) throw await failure(response);
    const made = await response.json();
    session = { secret: made.session, until: made.ends_at * 1000 };
  }
  return session.secret;
}

async function failure(response) {
  let said = {};
  try { said = (await response.json()).error || {}; } catch { /* A proxy says it in its own way. */ }
  return new Error(response.status === 429 ? t("Too many questions for now. Try again in a minute.") : said.message || t("That did not work. Try again later."));
}

async function ask(question, history, take, signal, again = true) {
  const response = await fetch(`${id}/ask`, { method: "POST", signal, body: JSON.stringify({ question, history }),
    headers: { "content-type": "application/json", authorization: `Bearer ${await secret(!again)}` } });
  if (response.status === 401 && again) return ask(question, history, take, signal, false);
  if (!response.ok) throw await failure(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const part = await reader.read();
    if (part.done) return undefined;
    text += part.value;
    let end;
    while ((end = text.indexOf("\n\n")) >= 0) {
      const line = text.slice(0, end).split("\n").find((line) => line.startsWith("data: "));
      text = text.slice(end + 2);
      if (line) take(JSON.parse(line.slice(6)));
    }
  }
}

function Widget() {
  const [open, setOpen] = useState(!floats);
  useEffect(() => {
    if (floats) parent.postMessage({ ragstone: "size", open }, "*");
  }, [open]);
  if (!open) {
    return html`<button type="button" class="launcher" aria-expanded="false" aria-label=${title()} title=${title()} onClick=${() => setOpen(true)}><${Icon} name="ask" /></button>`;
  }
  return html`<${Panel} onClose=${floats ? () => setOpen(false) : null} />`;
}

function title() {
  return (look.get("title") || t("Ask the documents")).slice(0, 80);
}

const turns = [];

function Panel({ onClose }) {
  const [draft, setDraft] = useState("");
  const [, redraw] = useState(0);
  const field = useRef(null), end = useRef(null), stop = useRef(null);
  const again = () => redraw((count) => count + 1);
  useEffect(() => { if (floats) field.current.focus(); }, []);
  useLayoutEffect(() => { end.current.scrollIntoView({ block: "nearest" }); }, [turns.length]);
  const running = turns.at(-1)?.state === "running";
  const put = async (question) => {
    if (!question.trim() || running) return;
    const history = turns.filter((turn) => turn.state === "done").slice(-MOST_SAID / 2).flatMap((turn) => [{ role: "user", text: turn.question }, { role: "assistant", text: turn.text.slice(0, 20_000) }]);
    const turn = { id: newId(), question: question.trim(), text: "", state: "running", sources: [], end: null, error: "" };
    turns.push(turn);
    setDraft("");
    again();
    stop.current = new AbortController();
    try {
      await ask(turn.question, history, (event) => { take(turn, event); again(); }, stop.current.signal);
      if (turn.state === "running") Object.assign(turn, { state: "failed", error: t("The connection was lost in the middle of the answer.") });
    } catch (error) {
      Object.assign(turn, error.name === "AbortError" ? { state: "stopped" } : { state: "failed", error: error instanceof TypeError ? t("The server does not answer. Is it running?") : error.message });
    }
    again();
    field.current?.focus();
  };
  const key = (event) => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); put(draft); } };
  return html`<main class="panel" onKeyDown=${(event) => event.key === "Escape" && onClose?.()}>
    <header><h1 dir="auto">${title()}</h1>${onClose && html`<button type="button" class="quiet" aria-label=${t("Close")} title=${t("Close")} onClick=${onClose}><${Icon} name="close" /></button>`}</header>
    <div class="talk" role="log" aria-live="polite" aria-busy=${String(running)} tabindex="0" aria-label=${t("Conversation")}>
      ${!turns.length && html`<p class="dim">${t("Every sentence of an answer shows where it comes from.")}</p>`}
      ${turns.map((turn) => html`<${Turn} key=${turn.id} turn=${turn} onAgain=${() => put(turn.question)} />`)}<div ref=${end}></div></div>
    <form onSubmit=${(event) => { event.preventDefault(); put(draft); }}>
      <label class="unseen" for="q">${t("Your question")}</label>
      <textarea id="q" ref=${field} rows="2" dir="auto" maxlength="4000" placeholder=${t("Ask a question")} value=${draft} onInput=${(event) => setDraft(event.target.value)} onKeyDown=${key}></textarea>
      ${running ? html`<button type="button" class="primary" aria-label=${t("Stop")} title=${t("Stop")} onClick=${() => stop.current.abort()}><${Icon} name="stop" /></button>`
        : html`<button class="primary" aria-label=${t("Ask")} title=${t("Ask")} disabled=${!draft.trim()}><${Icon} name="send" /></button>`}</form></main>`;
}

function take(turn, event) {
  if (event.type === "token") turn.text += event.text;
  else if (event.type === "answer") Object.assign(turn, { text: event.text, sources: event.sources, end: event, state: "done" });
  else if (event.type === "error") Object.assign(turn, { state: "failed", error: event.message });
}

function Turn({ turn, onAgain }) {
  const [shown, setShown] = useState(0);
  const titles = new Map(turn.sources.map((source) => [source.number, source.title]));
  const refused = ["refused", "blocked"].includes(turn.end?.finish);
  return html`<article><p class="question" dir="auto">${turn.question}</p>
    ${turn.text && html`<div class=${refused ? "refused" : ""}><${Markdown} text=${turn.text} cited=${titles} onCite=${(number) => setShown(shown === number ? 0 : number)} /></div>`}
    ${turn.state === "running" && html`<p class="dim"><span class="spinner"></span> ${t("Searching the documents…")}</p>`}
    ${turn.error && html`<p class="bad" role="alert">${turn.error} <button type="button" class="link" onClick=${onAgain}>${t("Try again")}</button></p>`}
    ${turn.end && !refused && turn.end.confidence !== null && html`<p class="dim">${t("Confidence {share}", { share: percent(turn.end.confidence) })}</p>`}
    ${turn.sources.length > 0 && !refused && html`<h2>${t("Sources")}</h2><ol class="sources">${turn.sources.map((source) => html`<li key=${source.number}>
      <button type="button" class="source" aria-expanded=${String(shown === source.number)} onClick=${() => setShown(shown === source.number ? 0 : source.number)}><span class="cite">${source.number}</span>
        <span dir="auto">${source.title}${source.page ? `, ${t("Page {page}", { page: source.page })}` : ""}</span></button>
      ${shown === source.number && html`<blockquote dir="auto">${source.snippet}</blockquote>${link(source.url)}`}</li>`)}</ol>`}</article>`;
}

function link(url) {
  if (!/^https?:\/\//.test(url || "")) return null;
  return html`<a href=${url} target="_blank" rel="noopener noreferrer">${t("Open the document")}</a>`;
}

// The site's wishes; each is looked at, as anybody may have written the address.
function wear() {
  const root = document.documentElement;
  if (["light", "dark"].includes(look.get("theme"))) root.dataset.theme = look.get("theme");
  const colour = look.get("colour") || "";
  if (/^#[0-9a-f]{6}$/i.test(colour)) {
    root.style.setProperty("--accent", colour);
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255).map((light) => (light <= 0.04045 ? light / 12.92 : ((light + 0.055) / 1.055) ** 2.4));
    // Black or white, whichever can be read on it.
    root.style.setProperty("--on-accent", 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#000" : "#fff");
  }
  if (floats) root.dataset.floats = look.get("position") === "left" ? "left" : "right";
}

wear();
await speak(LANGUAGES[look.get("language")] ? look.get("language") : preferred(), false).catch(() => speak("en", false));
document.title = title();
render(html`<${Widget} />`, document.getElementById("widget"));
