// Asking: the conversation, the field for the next question, and the evidence beside it.
import { html, changed, copy, go, newId, notify, page, remember, remembered, save, update, useEffect, useLayoutEffect,
  useLoaded, useRef, useState } from "./lib.js";
import { call, isAdmin, may, principal, stream } from "./api.js";
import { Answer, sourcesOf } from "./answer.js";
import { add, chosen, dropped, queue } from "./adding.js";
import { DocumentView } from "./document.js";
import { below, FolderChoice } from "./folders.js";
import { AddSamples, areBeingAdded, QUESTIONS, RemoveSamples, useSamples } from "./samples.js";
import { ask as askUser, Button, Busy, Choice, Failure, Icon } from "./ui.js";
import { legible, number, percent, sentence, t, VERDICTS, when } from "./words.js";

export const LEVELS = ["basic", "standard", "enhanced", "maximum"];
export const levelNames = () => [["basic", t("Fast")], ["standard", t("Standard")], ["enhanced", t("Thorough")], ["maximum", t("Most thorough")]];

// The conversation on the screen. It goes on while another page is looked at.
export const talk = { room: "", title: "", turns: [], more: false, stop: null, draft: "", only: true, shown: 30,
  collection: remembered("collection", ""), level: remembered("level", "standard"), folder: "", documents: [], mode: "", choices: false };

export function newTurn(question, collection) {
  return { id: newId(), question, collection, state: "running", stages: [], text: "", thinking: "", notes: [],
    passages: [], verdicts: [], answer: null, trace: [], full: null, cached: "", error: null, answerId: "" };
}

// Read the events of an answer into a turn, drawing as they come.
// A connection that breaks is made again, and the answer goes on behind what came of it.
export async function follow(turn, given, signal) {
  const key = newId();
  let came = 0, tries = 0;
  for (;;) {
    try {
      for await (const { event, data } of stream("ask", { ask: given, key, after: came }, signal)) {
        came += 1;
        tries = 0;
        turn.waits = false;
        take(turn, event, data);
        changed();
      }
      if (turn.state === "running") turn.state = "done";
    } catch (error) {
      if (error.name === "AbortError") {
        turn.state = "stopped";
        call("stop", { key }).catch(() => { /* It ends by itself in half a minute. */ });
      } else if (["lost", "offline"].includes(error.code) && turn.state === "running" && came && tries < TRIES) {
        tries += 1;
        turn.waits = true;
        changed();
        await pause(500 * 2 ** Math.min(tries - 1, 3), signal);
        continue;
      } else if (turn.state === "running" || !came) Object.assign(turn, { state: "failed", error: error.code === "unknown_answer" ? { code: "lost" } : error });
    }
    turn.waits = false;
    changed();
    return;
  }
}

const TRIES = 8; // In about half a minute, for as long as the server keeps an answer that nobody reads.

function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", resolve, { once: true });
  });
}

function take(turn, event, data) {
  if (event === "stage_started") turn.stages.push({ stage: data.stage });
  else if (event === "stage_ended") {
    const open = turn.stages.findLast((stage) => stage.stage === data.traced.stage && !stage.traced);
    if (open) open.traced = data.traced;
    else turn.stages.push({ stage: data.traced.stage, traced: data.traced });
  } else if (event === "note") turn.notes.push(data.text);
  else if (event === "thinking") turn.thinking += data.text;
  else if (event === "sources") turn.passages = data.passages;
  else if (event === "token") turn.text += data.text;
  else if (event === "checked") turn.verdicts = data.verdicts;
  else if (event === "done" || event === "failed") finish(turn, data.turn, data.error);
}

function finish(turn, full, error) {
  turn.full = full;
  turn.answerId = full.ask.id;
  // What was said before a failure is no answer: nothing is claimed of it.
  turn.answer = error ? null : full.answer;
  turn.text = full.answer?.text || turn.text;
  turn.passages = full.passages;
  turn.verdicts = full.verdicts;
  turn.trace = full.trace;
  turn.cached = full.recalled?.content || "";
  turn.state = error ? "failed" : "done";
  if (error) turn.error = error;
}

export async function put(question, options = {}) {
  if (!question.trim() || talk.stop) return;
  talk.room ||= newId();
  const turn = Object.assign(newTurn(question.trim(), talk.collection || "default"), { room: principal().user && talk.room });
  talk.turns.push(turn);
  talk.draft = "";
  const stop = new AbortController();
  talk.stop = () => stop.abort();
  if (page.route[1] !== talk.room) go("ask", talk.room);
  update({ panel: null });
  const given = { question: turn.question, collection: turn.collection, level: talk.level, room: talk.room,
    id: turn.id, principal: principal(), mode: talk.mode || null, where: within(), ...options };
  await follow(turn, given, stop.signal);
  talk.stop = null;
  goOn(turn);
  // Of older answers what every search found is let go of: a long conversation would keep it all.
  const older = talk.turns[talk.turns.length - 1 - WHOLE];
  if (older) older.full = null;
  update({ rooms: (page.rooms || 0) + 1 });
}

// Ask what to ask next, unless the chat model has said it already.
function goOn(turn) {
  if (turn.state !== "done" || turn.answer?.suggested?.length || !may("suggest")) return;
  const sources = sourcesOf(turn);
  const cited = sources.filter((source) => source.cited);
  const places = (cited.length ? cited : sources.slice(0, 3)).map((source) => [source.chunk_id, source.spans[0].start]);
  if (!places.length) return;
  suggest(Object.fromEntries(places), talk.turns.map((turn) => turn.question), turn.collection).then(
    (questions) => { turn.suggested = questions; changed(); },
    () => { /* The answer stands without them. */ });
}

const WHOLE = 20; // Answers of which all is known.

// The files of this conversation: only who added them may read them.
function attached() {
  return talk.room ? queue.files.filter((file) => file.room === talk.room) : [];
}

function folder(room) {
  return `/conversations/${room}`;
}

// What is asked about: the files of this conversation, chosen documents, a folder, or everything.
function within() {
  if (talk.only && attached().some((file) => file.state === "done")) return below(folder(talk.room));
  if (talk.documents.length) return { any_of: ["path", ...talk.documents] };
  return talk.folder ? below(talk.folder) : null;
}

function attach(given) {
  talk.room ||= newId();
  talk.only = true;
  const files = given.map(({ file, path }) => ({ file, path: `${folder(talk.room).slice(1)}/${path}` }));
  add(files, talk.collection || "default", { room: talk.room, allowed: [`user:${principal().user}`] });
}

export function startNew() {
  talk.stop?.();
  Object.assign(talk, { room: "", title: "", turns: [], more: false, stop: null, shown: 30, documents: [] });
  update({ panel: null, side: false });
  go("ask");
  setTimeout(() => document.getElementById("question")?.focus());
}

// A new conversation about these documents alone.
export function askAbout(collection, paths) {
  startNew();
  Object.assign(talk, { collection, documents: paths, folder: "" });
  changed();
}

// The main points of these documents alone, each sentence with its verdict.
export function brief(collection, paths) {
  askAbout(collection, paths);
  put(paths.length > 1 ? t("Summarise all documents") : t("Summarise this document"));
}

const PART = 20; // Turns that are read at a time.

async function open(room) {
  talk.stop?.();
  Object.assign(talk, { room, turns: [], more: false, stop: null, shown: 30, documents: [] });
  await earlier();
}

async function earlier() {
  const { room } = talk;
  const at = { tenant: principal().tenant, user: principal().user, room, user_id: "" };
  const found = await call("conversations.entries", { conversation: at, limit: PART, offset: talk.turns.length });
  if (talk.room !== room) return; // Somebody went elsewhere meanwhile.
  talk.more = found.length === PART;
  talk.turns.unshift(...found.reverse().map(stored));
  if (talk.turns.length === found.length && found.length) goOn(talk.turns.at(-1));
  changed();
}

export function stored(entry) {
  const { block, notes } = entry;
  const asked = block.conversations.find((message) => message.role === "user");
  const turn = newTurn(asked?.content || "", notes.collection);
  return Object.assign(turn, { room: block.room_id, id: block.chat_id || turn.id, answerId: block.chat_id, state: "done", answer: notes.answer.text && !block.is_error ? notes.answer : null,
    text: block.result.final_response, verdicts: notes.verdicts, nearest: notes.nearest || [], trace: notes.trace,
    stages: notes.trace.map((traced) => ({ stage: traced.stage, traced })),
    error: block.is_error ? { message: t("This question failed.") } : null });
}

export function AskPage() {
  const room = page.route[1] || "";
  const [failed, setFailed] = useState(null);
  const collections = useLoaded(async () => (may("collections") ? call("collections") : []), [page.session, page.ingested]);
  useEffect(() => {
    setFailed(null);
    if (room && room !== talk.room && may("conversations.entries")) open(room).catch(setFailed);
    else if (room && room !== talk.room) startNew();
    else if (!room && talk.room) startNew();
  }, [room]);
  const known = collections.value || [];
  useEffect(() => {
    const names = known.map((entry) => entry.collection.name);
    if (names.length && !names.includes(talk.collection)) talk.collection = names.includes("default") ? "default" : names[0];
    changed();
  }, [collections.value]);
  const edit = (question) => { talk.draft = question; changed(); document.getElementById("question").focus(); };
  const documents = known.reduce((sum, entry) => sum + entry.documents, 0);
  return html`<div class="ask"><div class="talk">
    <h1 class="unseen">${t("Ask")}</h1>
    ${failed && html`<${Failure} error=${failed} again=${() => go("ask")} />`}
    ${collections.error && html`<${Failure} error=${collections.error} again=${collections.reload} />`}
    ${talk.more && talk.shown >= talk.turns.length && html`<${Button} label=${t("Show earlier questions")} onClick=${() => { talk.shown += PART; earlier().catch(setFailed); }} />`}
    ${!talk.turns.length && !failed && !collections.error && html`<${Welcome} documents=${documents} known=${collections.value} />`}
    <${Turns} onEdit=${edit} />
    </div><${Composer} known=${known} /></div>
    ${page.panel && html`<${Evidence} ...${page.panel} />`}`;
}

// Keeps the newest answer in view until its reader scrolls up: its end while it grows, then as much of it as
// there is room for below its question.
function useFollowing() {
  const turns = useRef(null);
  const following = useRef(true);
  const [away, setAway] = useState(false);
  const newest = talk.turns.at(-1);
  useEffect(() => {
    const list = turns.current, box = list.parentElement;
    let { scrollTop: place, scrollHeight: height } = box;
    const look = () => {
      const left = box.scrollHeight - box.clientHeight - box.scrollTop;
      // What is taken away moves the page as well.
      if (box.scrollTop < place - 2 && box.scrollHeight >= height) following.current = false;
      if (left < 40) following.current = true;
      ({ scrollTop: place, scrollHeight: height } = box);
      setAway(left > box.clientHeight / 2);
    };
    const follow = () => {
      const [turn] = [...list.querySelectorAll(".turn")].slice(-1);
      if (turn && following.current) {
        const end = box.scrollHeight - box.clientHeight;
        const begin = box.scrollTop + turn.getBoundingClientRect().top - box.getBoundingClientRect().top - 8;
        box.scrollTop = Math.max(box.scrollTop, talk.turns.at(-1)?.state === "running" ? end : Math.min(end, begin));
      }
      look();
    };
    const sizes = new ResizeObserver(follow);
    sizes.observe(list);
    box.addEventListener("scroll", look, { passive: true });
    return () => { sizes.disconnect(); box.removeEventListener("scroll", look); };
  }, []);
  useLayoutEffect(() => { following.current = true; }, [newest?.id]);
  const jump = () => { following.current = true; turns.current.parentElement.scrollTop = turns.current.parentElement.scrollHeight; };
  return { turns, away, jump };
}

function Turns({ onEdit }) {
  const { turns, away, jump } = useFollowing();
  // A page of hundreds of answers is slow: the latest are drawn, and the others on demand.
  const hidden = Math.max(0, talk.turns.length - talk.shown);
  return html`<div class="turns" ref=${turns}>${hidden > 0 && html`<${Button} label=${t("Show {count} earlier questions", { count: number(hidden) })} onClick=${() => { talk.shown += 30; changed(); }} />`}
    ${talk.turns.slice(hidden).map((turn, place) => html`<${Answer} key=${turn.id} turn=${turn}
    last=${hidden + place === talk.turns.length - 1} onAsk=${put} onEdit=${onEdit} />`)}</div>
    ${away && html`<div class="jump"><${Button} icon="latest" label=${t("Jump to the latest")} onClick=${jump} /></div>`}`;
}

// What somebody sees who has not asked yet.
function Welcome({ documents, known }) {
  const collection = talk.collection || known?.[0]?.collection.name || "default";
  const here = known?.find((entry) => entry.collection.name === collection)?.documents ?? 0;
  const samples = useSamples(here > 0 && collection);
  const own = here > 0 && samples && here > samples.length;
  const suggested = useLoaded(async () => (own ? suggest({}, [], collection) : []), [collection, documents, own]);
  const questions = here > 0 && samples && !own ? QUESTIONS : suggested.value || [];
  const begin = html`<h2>${t("Ask your own documents")}</h2><p>${t("Every sentence of an answer shows where it comes from.")}</p>`;
  if (!known) return html`<section class="welcome">${begin}</section>`;
  if (may("collections") && (!documents || areBeingAdded(collection))) {
    return html`<section class="welcome">${begin}
      ${may("ingest") ? html`<p>${t("First, add some documents: drop files or whole folders here.")}</p>
        <div class="row"><a class="button primary" href="#/documents"><${Icon} name="upload" /><span>${t("Add documents")}</span></a>
        ${isAdmin() && html`<a class="button" href="#/admin/sources"><${Icon} name="again" /><span>${t("Add a source")}</span></a>`}
        <${AddSamples} collection=${collection} /></div>
        <p class="hint">${t("Or from the command line:")} <code>ragstone ingest FOLDER</code></p>`
        : html`<p>${t("There are no documents that you may read yet. Whoever runs this server adds them, or signs in here to do it.")}</p>
        <p class="hint"><code>ragstone ingest FOLDER</code></p>`}</section>`;
  }
  return html`<section class="welcome">${begin}
    ${!may("collections") && html`<p>${t("You are a guest here: you can ask. Sign in to see and add documents.")}</p>
      <${Button} icon="key" label=${t("Sign in")} onClick=${() => update({ signsIn: true })} />`}
    ${own && suggested.busy && html`<${Busy} />`}${questions.length > 0 && html`<h3>${t("Try one of these")}</h3>
      ${questions.map((question) => html`<button type="button" class="suggestion" dir="auto" onClick=${() => put(question)}>${question}</button>`)}`}
    <p><${RemoveSamples} collection=${collection} paths=${samples} /></p>
  </section>`;
}

// Questions that the documents answer: to begin with, or with those that hold these passages, by their ids, with their places.
function suggest(cited, asked, collection) {
  return call("suggest", { collection, cited, asked, where: within() });
}

const wordings = () => [["", t("Default")], ["simple", t("Short")], ["advanced", t("In detail")], ["precise", t("Exact")]];

const STATES = { waiting: "Waiting", sending: "Sending", sent: "Sent", reading: "Being read", done: "Done", failed: "Failed", skipped: "Skipped" };

function Composer({ known }) {
  const field = useRef(null);
  const [, redraw] = useState(null); // Of this field alone, as somebody types below hundreds of answers.
  const fit = () => { const area = field.current; area.style.height = "auto"; area.style.height = `${Math.min(area.scrollHeight, 200)}px`; };
  useLayoutEffect(fit, [talk.draft]);
  const send = (event) => { event?.preventDefault(); put(talk.draft); };
  const key = (event) => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(event); };
  const choose = (name) => (value) => { talk[name] = value; remember(name, value); changed(); };
  const chooseCollection = (value) => { Object.assign(talk, { folder: "", documents: [] }); choose("collection")(value); };
  const forNow = (name) => (value) => { talk[name] = value; changed(); };
  const choices = talk.choices || talk.folder || talk.mode;
  const names = known.map((entry) => [entry.collection.name, entry.collection.name]);
  const files = useRef(null);
  const mine = attached();
  const pick = (event) => { attach(chosen(event.target.files)); event.target.value = ""; };
  const drop = async (event) => { event.preventDefault(); attach(await dropped(event.dataTransfer)); };
  const adds = may("ingest") && Boolean(principal().user);
  return html`<form class="composer" onSubmit=${send} onDragOver=${adds ? (event) => event.preventDefault() : null} onDrop=${adds ? drop : null}>
    ${mine.length > 0 && html`<ul class="attached" aria-label=${t("Files of this conversation")}>${mine.map((file) => html`<li key=${file.path} class=${file.state}>
      <${Icon} name=${file.state === "done" ? "check" : file.state === "failed" || file.state === "skipped" ? "warn" : "documents"} /><span dir="auto">${file.file.name}</span>
      <span class="dim" role="status">${file.reason || (file.state === "sending" ? percent(file.share) : t(STATES[file.state]))}</span></li>`)}
      <li class="plainly"><label class="row"><input type="checkbox" checked=${talk.only} onChange=${(event) => { talk.only = event.target.checked; changed(); }} /> <span>${t("Answer from these files only")}</span></label></li></ul>`}
    ${talk.documents.length > 0 && html`<ul class="attached" aria-label=${t("Documents that are asked about")}><li><${Icon} name="documents" />
      <span dir="auto" title=${talk.documents.join("\n")}>${talk.documents.length === 1 ? talk.documents[0].split("/").pop() : t("{count} documents", { count: number(talk.documents.length) })}</span>
      <${Button} icon="close" quiet label=${t("Ask about all documents")} onClick=${() => forNow("documents")([])} /></li></ul>`}
    <label class="unseen" for="question">${t("Your question")}</label>
    <textarea id="question" ref=${field} rows="1" dir="auto" maxlength="20000" autofocus placeholder=${t("Ask a question about your documents")}
      value=${talk.draft} onInput=${(event) => { talk.draft = event.target.value; redraw({}); }} onKeyDown=${key}></textarea>
    <div class="row">
      ${!may("collections") && html`<label class="field"><span>${t("Collection")}</span><input value=${talk.collection || "default"} maxlength="255" dir="auto"
        onChange=${(event) => choose("collection")(event.target.value.trim())} /></label>`}
      ${names.length > 1 && html`<${Choice} label=${t("Collection")} value=${talk.collection} options=${names} onChange=${chooseCollection} />`}
      <${Choice} label=${t("Level")} value=${talk.level} options=${levelNames()} onChange=${choose("level")} />
      <${Button} icon="choices" quiet label=${t("More choices")} aria-expanded=${String(Boolean(choices))} disabled=${Boolean(talk.folder || talk.mode)} onClick=${() => forNow("choices")(!talk.choices)} />
      ${adds && html`<${Button} icon="clip" quiet label=${t("Add files to this conversation; only you can read them")} onClick=${() => files.current.click()} />
        <input type="file" multiple hidden id="attach" ref=${files} onChange=${pick} aria-label=${t("Add files to this conversation; only you can read them")} />`}
      <span class="grow"></span>
      ${talk.stop ? html`<${Button} icon="stop" kind="primary" label=${t("Stop")} onClick=${() => talk.stop()} />`
        : html`<button class="button primary" disabled=${!talk.draft.trim()}><${Icon} name="send" /><span>${t("Ask")}</span></button>`}
    </div>
    ${choices && html`<div class="row choices"><${FolderChoice} collection=${talk.collection} value=${talk.folder} onChange=${forNow("folder")} />
      <${Choice} label=${t("Wording")} value=${talk.mode} options=${wordings()} onChange=${forNow("mode")} /></div>`}</form>`;
}

// The edge between answer and document, which is dragged, or moved by the arrow keys. Its place is a share of the page.
function Edge() {
  const [share, setShare] = useState(remembered("panel", 50));
  const move = (wanted) => { const next = Math.round(Math.min(75, Math.max(25, wanted))); setShare(next); remember("panel", next); };
  useEffect(() => { document.getElementById("main").style.setProperty("--panel", `${share}%`); }, [share]);
  const away = () => (document.documentElement.dir === "rtl" ? -1 : 1);
  const drag = (event) => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
    const { left, right, width } = document.getElementById("main").getBoundingClientRect();
    move((100 * (away() > 0 ? right - event.clientX : event.clientX - left)) / width);
  };
  const keys = (event) => {
    const step = { ArrowLeft: 5, ArrowRight: -5 }[event.key];
    if (step) { event.preventDefault(); move(share + step * away()); }
  };
  return html`<div class="edge" role="separator" tabindex="0" aria-orientation="vertical" aria-label=${t("Width of the document")} aria-valuemin="25" aria-valuemax="75" aria-valuenow=${share}
    onPointerDown=${(event) => event.currentTarget.setPointerCapture(event.pointerId)} onPointerMove=${drag} onKeyDown=${keys}></div>`;
}

// The document beside the answer, at what supports it.
export function Evidence({ source, said }) {
  const box = useRef(null);
  useEffect(() => { box.current.focus(); }, [source, said]);
  const close = () => update({ panel: null });
  const name = source ? legible(source.title || source.path) : t("No source");
  return html`<aside class="panel" ref=${box} tabindex="-1" aria-label=${t("Evidence")} onKeyDown=${(event) => event.key === "Escape" && close()}>
    <${Edge} /><header><div><h2 dir="auto">${name}</h2>
      ${source && html`<p class="where" dir="auto">${[legible(source.path), source.page && t("Page {page}", { page: source.page }), ...(source.section || []).slice(-1)].filter(Boolean).join(" · ")}</p>`}</div>
      <${Button} icon="close" quiet label=${t("Close")} onClick=${close} /></header>
    ${said && html`<div class=${`callout verdict ${said.label}`}><div><strong>${t(VERDICTS[said.label])}</strong> · ${percent(said.confidence)}
      <p dir="auto">“${said.sentence}”</p>${said.reason && html`<p>${said.reason}</p>`}</div></div>`}
    ${source ? html`<${DocumentView} key=${source.document_id} collection=${source.collection} path=${source.document_id} spans=${source.spans} page=${source.page} passage=${source.chunk_id} />`
      : html`<p>${t("No sentence of the documents is similar to this one.")}</p>`}
    ${source && may("reading.read") && html`<footer><a class="button" href=${`#/documents/${encodeURIComponent(source.collection)}/${encodeURIComponent(source.document_id)}`}>
      <${Icon} name="documents" /><span>${t("Open the document")}</span></a></footer>`}
  </aside>`;
}

// The list of conversations, beside every page.
export function Conversations() {
  const [wanted, setWanted] = useState("");
  const found = useLoaded(async () => (may("conversations.rooms") ? call("conversations.rooms", { limit: 200 }) : null), [page.session, page.rooms]);
  const shares = useLoaded(async () => (may("shares.list_all") && principal().user ? call("shares.list_all") : []), [page.session, page.rooms]);
  const shared = new Map((shares.value || []).map((share) => [`${share.user_id} ${share.room}`, share.id]));
  const rooms = (found.value?.rooms || []).filter((room) => room.title.toLowerCase().includes(wanted.toLowerCase()));
  if (found.error || !found.value?.rooms.length) return null;
  return html`<section class="conversations"><h2>${t("Conversations")}</h2>
    <label class="search"><${Icon} name="search" /><span class="unseen">${t("Search conversations")}</span>
      <input type="search" value=${wanted} placeholder=${t("Search conversations")} onInput=${(event) => setWanted(event.target.value)} /></label>
    <ul>${rooms.map((room) => html`<${Room} key=${room.user_id + room.room} room=${room} shared=${shared.get(`${room.user_id} ${room.room}`)} />`)}</ul>
    ${!rooms.length && html`<p class="hint">${t("No title contains these words.")}</p>`}</section>`;
}

// The files that were added to a conversation go with it.
async function removeFiles(room) {
  if (!may("delete")) return;
  for (const { collection } of await call("collections")) {
    const [first] = await call("documents", { collection: collection.name, after: `${folder(room)}/`, limit: 1 });
    if (first?.path.startsWith(`${folder(room)}/`)) await call("delete", { collection: collection.name, paths: [folder(room)] });
  }
}

const bytesOf = (base64) => Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));

// Shows a conversation to others, by an address to copy.
async function share(room) {
  const { id } = await call("shares.put", { room: room.room, user_id: room.user_id });
  const link = new URL(`#/shared/${id}`, location.href).href;
  update({ rooms: (page.rooms || 0) + 1 });
  const text = t("Whoever can sign in here and has this link reads the conversation as it is now. Each answer is shown only to people who may read all documents that support it.");
  if (await askUser({ title: t("Share by link"), text, field: t("Link"), value: link, confirm: t("Copy the link") })) { await copy(link); notify(t("Copied")); }
}

function Room({ room, shared }) {
  const at = { tenant: principal().tenant, user: principal().user, room: room.room, user_id: room.user_id };
  const redraw = () => update({ rooms: (page.rooms || 0) + 1 });
  const guarded = (work) => async (event) => {
    event.target.closest("details").open = false;
    try { await work(); } catch (error) { notify(sentence(error), "bad"); }
  };
  const rename = guarded(async () => {
    const name = await askUser({ title: t("Rename the conversation"), field: t("Title"), value: room.title, confirm: t("Rename") });
    if (name) { await call("conversations.rename", { conversation: at, name }); redraw(); }
  });
  const download = (form, ending, decode = (text) => text) => guarded(async () => {
    save(`conversation.${ending}`, decode(await call("conversations.export", { conversation: at, form })));
  });
  const printed = guarded(async () => {
    if (talk.room !== room.room) { go("ask", room.room); await open(room.room); }
    while (talk.more) await earlier();
    talk.shown = talk.turns.length;
    update({ panel: null, side: false });
    setTimeout(() => window.print());
  });
  const unshare = guarded(async () => { await call("shares.remove", { id: shared }); redraw(); notify(t("The link no longer works.")); });
  const remove = guarded(async () => {
    const sure = await askUser({ title: t("Delete the conversation?"), text: room.title, confirm: t("Delete"), danger: true });
    if (!sure) return;
    await call("conversations.delete", { conversation: at });
    await removeFiles(room.room);
    if (talk.room === room.room) startNew();
    redraw();
  });
  return html`<li class=${talk.room === room.room ? "current" : ""}>
    <a href=${`#/ask/${encodeURIComponent(room.room)}`} dir="auto" title=${`${room.title} · ${when(room.updated_at)}`}
      aria-current=${talk.room === room.room ? "page" : null} onClick=${() => update({ side: false })}>${room.title || t("Untitled")}</a>
    <details class="menu"><summary aria-label=${t("More about {title}", { title: room.title })}>⋯</summary><div>
      <${Button} icon="edit" label=${t("Rename")} onClick=${rename} />
      ${may("shares.put") && html`<${Button} icon="share" label=${shared ? t("Share as it is now") : t("Share by link")} onClick=${guarded(() => share(room))} />`}
      ${shared && html`<${Button} icon="close" label=${t("Stop sharing")} onClick=${unshare} />`}
      ${may("conversations.export") && html`<${Button} icon="save" label=${t("Export as Markdown")} onClick=${download("markdown", "md")} />
      <${Button} icon="save" label=${t("Export as Word")} onClick=${download("docx", "docx", bytesOf)} />
      <${Button} icon="save" label=${t("Export as JSON")} onClick=${download("json", "json")} />`}
      <${Button} icon="print" label=${t("Print or save as PDF")} onClick=${printed} />
      <${Button} icon="trash" label=${t("Delete")} onClick=${remove} /></div></details></li>`;
}
