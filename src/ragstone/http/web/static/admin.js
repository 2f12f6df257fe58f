// Administration: everything here is also an address of the HTTP API, named in docs/web.md.
import { html, copy, go, notify, page, save, update, useEffect, useLoaded, useState } from "./lib.js";
import { call, enter, isAdmin, may, request, stream } from "./api.js";
import { AuditView } from "./audit.js";
import { PeopleView } from "./people.js";
import { PromptsView } from "./prompts.js";
import { QuotasView } from "./quotas.js";
import { SettingsView } from "./settings.js";
import { SourcesView } from "./sources.js";
import { StatisticsView } from "./statistics.js";
import { VerifiedView } from "./verified.js";
import { ask as askUser, Bar, Busy, Button, Choice, Failure, Icon, tried } from "./ui.js";
import { duration, number, percent, reasonFor, size, t, when } from "./words.js";

const VIEWS = { overview: Health, statistics: StatisticsView, settings: SettingsView, prompts: PromptsView, topics: Topics, keys: Keys, people: PeopleView, sources: SourcesView, jobs: Jobs, feedback: Feedback, verified: VerifiedView, quotas: QuotasView, audit: AuditView };

export default function AdminPage() {
  const current = VIEWS[page.route[1]] ? page.route[1] : "overview";
  const View = VIEWS[current];
  const groups = [[t("Server"), [["overview", t("Overview")], ["statistics", t("Statistics")], ["settings", t("Settings")]]],
    [t("Documents"), [["sources", t("Sources")], ["jobs", t("Jobs")]]],
    [t("Answers"), [["prompts", t("Prompts")], ["topics", t("Blocked topics")], ["verified", t("Verified answers"), "verified.put"], ["feedback", t("Feedback"), "feedback.list_all"]]],
    [t("People and rights"), [["people", t("People")], ["keys", t("Keys")], ["quotas", t("Quotas"), "quotas.list_all"], ["audit", t("Audit trail"), "audit.events"]]]]
    .map(([title, parts]) => [title, parts.filter(([, , operation]) => !operation || may(operation))]);
  if (!isAdmin()) return html`<div class="sheet"><h1>${t("Admin")}</h1><p>${t("Your key does not allow this. Sign in with the key of an administrator.")}</p></div>`;
  return html`<div class="sheet"><h1>${t("Admin")}</h1><div class="admin">
    <label class="part"><span class="unseen">${t("Parts of the administration")}</span><select onChange=${(event) => go("admin", event.target.value)}>
      ${groups.map(([title, parts]) => html`<optgroup key=${title} label=${title}>${parts.map(([name, label]) => html`<option value=${name} selected=${name === current}>${label}</option>`)}</optgroup>`)}</select></label>
    <nav aria-label=${t("Parts of the administration")}>${groups.map(([title, parts]) => html`<section key=${title}><h2>${title}</h2>
      ${parts.map(([name, label]) => html`<a key=${name} href=${`#/admin/${name}`} aria-current=${name === current ? "page" : null}>${label}</a>`)}</section>`)}</nav>
    <div><${View} key=${current} /></div></div></div>`;
}

const CHECKS = { index: "Search index", state: "Database", models: "Models", disk: "Disk" };

function Health() {
  const ready = useLoaded(() => request("/ready").catch((error) => { if (error.status === 503) return { status: "unavailable", checks: {} }; throw error; }), []);
  const overview = useLoaded(() => (may("overview") ? call("overview") : Promise.resolve(null)), []);
  const cache = useLoaded(() => (may("cache_figures") ? call("cache_figures") : Promise.resolve(null)), []);
  const emptied = () => tried(() => call("clear_cache"), (count) => { notify(t("{count} questions were removed from the cache.", { count })); cache.reload(); });
  const others = useLoaded(() => Promise.all([request("/api/v1/jobs"), may("sources.list") ? call("sources.list") : [], may("webhooks.list_all") ? call("webhooks.list_all") : []]), []);
  const failed = [ready, others].find((loaded) => loaded.error);
  if (failed) return html`<${Failure} error=${failed.error} again=${failed.reload} />`;
  // All at once: what comes one after another moves what is being read.
  if (!ready.value || !others.value || [overview, cache].some((loaded) => loaded.busy && loaded.value === undefined)) return html`<${Busy} />`;
  const parts = Object.entries(ready.value.checks);
  return html`<${Attention} parts=${parts} failed=${overview.value?.failed} others=${others.value} /><div class="tiles">
    <section class="card"><h2>${t("Health")}</h2>${ready.busy && html`<${Busy} />`}
      <ul class="checks">${parts.map(([name, said]) => html`<li key=${name}><${Icon} name=${said.startsWith("ok") ? "check" : "warn"} /> <strong>${t(CHECKS[name] ?? name)}</strong> <span class=${said.startsWith("ok") ? "dim" : "bad"}>${said}</span></li>`)}</ul>
      <${Button} icon="again" label=${t("Refresh")} onClick=${ready.reload} /></section>
    ${overview.value && html`<section class="card"><h2>${t("Data")}</h2><dl class="figures">
      ${[[t("Version"), overview.value.version], [t("Collections"), number(overview.value.collections)], [t("Documents"), number(overview.value.documents)], [t("Passages"), number(overview.value.chunks)],
        [t("Failed"), number(overview.value.failed)], [t("On disk"), size(overview.value.disk_bytes)], [t("Answered by"), overview.value.answerer === "extractive" ? t("Sentences of the documents, without a chat model") : overview.value.answerer]].map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
      <h3>${t("Models")}</h3><ul class="plain">${Object.entries(overview.value.models).map(([name, purpose]) => html`<li key=${name}>${name} <span class="dim">${purpose}</span></li>`)}</ul></section>`}
    ${may("check_models") && html`<${ChatModels} />`}
    ${cache.value && html`<section class="card"><h2>${t("Cache")}</h2><dl class="figures">
      ${[[t("Questions"), number(cache.value.entries)], [t("Answered from the cache"), number(cache.value.hits)], [t("Not in the cache"), number(cache.value.misses)], [t("Time saved"), duration(cache.value.saved_seconds)]].map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
      <p class="dim"><bdi dir="ltr">${cache.value.where}</bdi></p><${Button} icon="trash" label=${t("Clear the cache")} onClick=${emptied} /></section>`}
    ${may("maintenance.back_up") && html`<${Backup} />`}
    ${may("maintenance.restore") && html`<${RestoreBackup} />`}</div>`;
}

// What an administrator should look at, each with the page where that is done.
function Attention({ parts, failed, others: [{ jobs }, sources, webhooks] }) {
  const broken = jobs.filter((job) => job.state === "failed").length;
  const found = [
    ...parts.filter(([, said]) => !said.startsWith("ok")).map(([name, said]) => [`${t(CHECKS[name] ?? name)}: ${said}`, "overview"]),
    ...(failed ? [[t("Documents that could not be read: {number}", { number: number(failed) }), "documents"]] : []),
    ...(broken ? [[t("Jobs that failed: {number}", { number: number(broken) }), "admin/jobs"]] : []),
    ...sources.filter((source) => source.failures || source.last?.held).map((source) => [t("The source {name} needs attention.", { name: source.name }), `admin/sources/${encodeURIComponent(source.name)}`]),
    ...webhooks.filter((webhook) => webhook.disabled_at || webhook.failing_since).map((webhook) => [webhook.disabled_at ? t("The webhook {url} is disabled: {reason}", { url: webhook.url, reason: webhook.error }) : t("Messages to the webhook {url} do not arrive: {reason}", { url: webhook.url, reason: webhook.error }), "overview"]),
  ];
  return html`<section class=${`callout ${found.length ? "bad" : ""}`}><${Icon} name=${found.length ? "warn" : "check"} /><div><h2>${found.length ? t("Needs attention") : t("Nothing needs attention.")}</h2>
    ${found.length > 0 && html`<ul class="plain">${found.map(([text, place]) => html`<li dir="auto">${place === "overview" ? text : html`<a href=${`#/${place}`}>${text}</a>`}</li>`)}</ul>`}</div></section>`;
}

function ChatModels() {
  const [checks, setChecks] = useState([]);
  const [busy, setBusy] = useState(false);
  const run = () => {
    setBusy(true);
    setChecks([]);
    return tried(async () => {
      for await (const check of stream("check_models")) setChecks((done) => [...done, check]);
    }).finally(() => setBusy(false));
  };
  return html`<section class="card"><h2>${t("Chat models")}</h2>
    <div role="status"><ul class="checks">${checks.map((check) => html`<li key=${`${check.model} ${check.check}`}><${Icon} name=${check.state === "ok" ? "check" : "warn"} /> <strong>${check.model}: ${check.check}</strong> <span class=${check.state === "failed" ? "bad" : "dim"}>${check.said}</span></li>`)}</ul></div>
    ${busy ? html`<${Busy} />` : html`<${Button} icon="again" label=${t("Check the chat models")} onClick=${run} />`}</section>`;
}

function Backup() {
  const [file, setFile] = useState("");
  const [since, setSince] = useState("");
  const [state, setState] = useState(null);
  const run = async (event) => {
    event.preventDefault();
    setState({ phase: t("Starting") });
    const asked = since ? { file, since } : { file };
    await tried(async () => { for await (const state of stream("maintenance.back_up", asked)) setState(state); });
    setState((old) => (old?.finished ? old : null));
  };
  return html`<section class="card"><h2>${t("Backup")}</h2><form onSubmit=${run}><label class="field"><span>${t("File on the server")}</span>
    <input required value=${file} placeholder="/backups/tuesday.ragstone" onInput=${(event) => setFile(event.target.value)} /></label>
    <label class="field"><span>${t("Earlier backup to continue; empty for a full backup")}</span>
    <input value=${since} placeholder="/backups/monday.ragstone" onInput=${(event) => setSince(event.target.value)} /></label>
    <p><button class="button" disabled=${state && !state.finished}>${t("Write a backup")}</button></p></form>
    <${Steps} state=${state} done=${t("The backup is written.")} /></section>`;
}

function Steps({ state, done }) {
  if (!state) return null;
  return html`<p role="status">${state.finished ? done : state.phase} ${state.notes?.join(" ")}</p>${!state.finished && html`<${Bar} share=${state.total ? state.done / state.total : null} />`}`;
}

// Everything answers as before until the last step, and a damaged backup changes nothing.
function RestoreBackup() {
  const [file, setFile] = useState("");
  const [earlier, setEarlier] = useState("");
  const [state, setState] = useState(null);
  const run = async (event) => {
    event.preventDefault();
    const text = t("All documents, conversations, keys, settings and prompts of this server are replaced by those of {file}. What came after that backup is lost.", { file });
    if (!await askUser({ title: t("Replace everything by this backup?"), text, confirm: t("Replace everything"), danger: true })) return;
    setState({ phase: t("Starting") });
    const asked = { file, earlier: earlier.split("\n").map((line) => line.trim()).filter(Boolean) };
    await tried(async () => { for await (const state of stream("maintenance.restore", asked)) setState(state); },
      async () => { await enter(); update({ ingested: (page.ingested || 0) + 1, rooms: (page.rooms || 0) + 1 }); });
    setState((old) => (old?.finished ? old : null));
  };
  return html`<section class="card"><h2>${t("Restore a backup")}</h2><form onSubmit=${run}><p>${t("The backup is read to its end first: if it is damaged, nothing changes. Questions are answered meanwhile.")}</p>
    <label class="field"><span>${t("File on the server")}</span>
    <input required value=${file} placeholder="/backups/tuesday.ragstone" onInput=${(event) => setFile(event.target.value)} /></label>
    <label class="field"><span>${t("Earlier backups that it continues, one per line, if they are elsewhere")}</span>
    <textarea rows="2" dir="ltr" value=${earlier} onInput=${(event) => setEarlier(event.target.value)}></textarea></label>
    <p><button class="button danger" disabled=${state && !state.finished}>${t("Restore")}</button></p></form>
    <${Steps} state=${state} done=${t("The backup is restored.")} /></section>`;
}

function Topics() {
  const found = useLoaded(() => request("/api/v1/topics"), []);
  const blocked = useLoaded(() => request("/api/v1/topics/blocked?limit=20"), []);
  const [form, setForm] = useState({ term: "", synonyms: "", examples: "" });
  const [question, setQuestion] = useState("");
  const [ruling, setRuling] = useState(null);
  const set = (name) => (event) => setForm({ ...form, [name]: event.target.value });
  const lines = (text) => text.split(/[\n,]/).map((part) => part.trim()).filter(Boolean);
  const add = (event) => {
    event.preventDefault();
    const topic = { term: form.term, synonyms: lines(form.synonyms), examples: form.examples.split("\n").map((line) => line.trim()).filter(Boolean) };
    tried(() => request("/api/v1/topics", { method: "POST", json: { topics: [topic] } }), () => { setForm({ term: "", synonyms: "", examples: "" }); found.reload(); });
  };
  const remove = (term) => tried(() => request("/api/v1/topics/remove", { method: "POST", json: { terms: [term] } }), found.reload);
  const check = (event) => {
    event.preventDefault();
    tried(() => request("/api/v1/topics/check", { method: "POST", json: { question } }), setRuling);
  };
  if (found.error) return html`<${Failure} error=${found.error} again=${found.reload} />`;
  return html`<p>${t("Questions about these topics are not answered. The words are compared by meaning too.")}</p><div class="tiles">
    <form class="card" onSubmit=${add}><h2>${t("Block a topic")}</h2>
      <label class="field"><span>${t("Word or phrase")}</span><input required dir="auto" value=${form.term} onInput=${set("term")} /></label>
      <label class="field"><span>${t("Other words for it, separated by commas")}</span><input dir="auto" value=${form.synonyms} onInput=${set("synonyms")} /></label>
      <label class="field"><span>${t("Questions about it, one per line")}</span><textarea rows="3" dir="auto" value=${form.examples} onInput=${set("examples")}></textarea></label>
      <p><button class="button primary">${t("Block")}</button></p></form>
    <form class="card" onSubmit=${check}><h2>${t("Try a question")}</h2><label class="field"><span>${t("Question")}</span><input required dir="auto" value=${question} onInput=${(event) => setQuestion(event.target.value)} /></label>
      <p><button class="button">${t("Would it be answered?")}</button></p>
      ${ruling && html`<div class=${`callout ${ruling.blocked ? "bad" : ""}`} role="status"><div>${ruling.blocked ? t("No, it is blocked.") : t("Yes, it may be answered.")}
        ${ruling.match && html`<p dir="auto">${ruling.match.topic.term} · ${ruling.match.match} · ${percent(ruling.match.score)} · ${ruling.rule}</p>`}</div></div>`}</form></div>
    <h2>${t("Topics")}</h2>${found.value?.topics.length ? html`<div class="scroll" tabindex="0"><table class="list"><tbody>${found.value.topics.map((topic) => html`<tr key=${topic.id}><td dir="auto"><strong>${topic.term}</strong></td><td dir="auto">${topic.synonyms.join(", ")}</td><td dir="auto">${topic.examples.join(" · ")}</td>
      <td><${Button} icon="trash" quiet label=${t("Unblock {term}", { term: topic.term })} onClick=${() => remove(topic.term)} /></td></tr>`)}</tbody></table></div>` : html`<p class="dim">${t("No topics are blocked.")}</p>`}
    ${blocked.value?.blocked.length > 0 && html`<h2>${t("Blocked questions")}</h2><div class="scroll" tabindex="0"><table class="list"><tbody>${blocked.value.blocked.map((refusal) => html`<tr><td>${when(refusal.at)}</td><td dir="auto">${refusal.user}</td><td dir="auto">${refusal.question}</td><td dir="auto">${refusal.term}</td><td>${percent(refusal.score)}</td></tr>`)}</tbody></table></div>`}`;
}

function Keys() {
  const found = useLoaded(() => request("/api/v1/keys"), []);
  const collections = useLoaded(() => call("collections"), []);
  const [form, setForm] = useState({ name: "", role: "reader", collection: "", days: "", site: "" });
  const [issued, setIssued] = useState(null);
  const set = (name) => (value) => setForm({ ...form, [name]: value });
  const create = (event) => {
    event.preventDefault();
    const widget = form.role === "widget";
    const json = { name: form.name, role: widget ? "reader" : form.role, sites: widget ? sites(form.site) : null, collections: form.collection ? [form.collection] : null, expires_in: form.days ? Number(form.days) * 86_400 : null };
    tried(() => request("/api/v1/keys", { method: "POST", json }), (made) => { setIssued(made); setForm({ ...form, name: "" }); found.reload(); });
  };
  const revoke = async (key) => {
    const sure = await askUser({ title: t("Revoke this key?"), text: key.name, confirm: t("Revoke"), danger: true });
    if (sure) tried(() => request(`/api/v1/keys/${encodeURIComponent(key.id)}`, { method: "DELETE" }), found.reload);
  };
  const names = (collections.value || []).map((collection) => [collection.collection.name, collection.collection.name]);
  if (found.error) return html`<${Failure} error=${found.error} again=${found.reload} />`;
  const first = found.value && !found.value.keys.length;
  return html`${first && html`<div class="callout"><div>${t("Once the first key exists, every visitor needs one.")}</div></div>`}
    <form class="card options" onSubmit=${create}>
      <label class="field"><span>${t("Who or what it is for")}</span><input required dir="auto" value=${form.name} onInput=${(event) => set("name")(event.target.value)} /></label>
      <${Choice} label=${t("Role")} value=${form.role} options=${[["reader", t("Reader: can ask")], ["editor", t("Editor: can also change documents")], ["admin", t("Administrator: everything")], ["widget", t("Widget: can ask from one site")]]} onChange=${set("role")} />
      <${Choice} label=${t("Access to")} value=${form.collection} options=${[["", t("All collections")], ...names]} onChange=${set("collection")} />
      ${form.role === "widget" && html`<label class="field"><span>${t("Address of the site")}</span><input required dir="ltr" value=${form.site} placeholder="https://www.example.org" onInput=${(event) => set("site")(event.target.value)} /></label>`}
      <label class="field"><span>${t("Expires in (days)")}</span><input type="number" min="1" value=${form.days} placeholder=${t("never")} onInput=${(event) => set("days")(event.target.value)} /></label>
      <button class="button primary">${t("Create key")}</button></form>
    ${issued?.key.sites && html`<div class="callout" role="status"><div><p>${t("Put this into a page of the site. It is not secret: the key can only ask, and only on this site.")}</p>
      <p class="row"><code class="secret" dir="ltr">${tag(issued.key.id)}</code><${Button} icon="copy" label=${t("Copy")} onClick=${async () => { await copy(tag(issued.key.id)); notify(t("Copied")); }} /></p></div></div>`}
    ${issued && !issued.key.sites && html`<div class="callout" role="status"><div><p>${t("This is the key. It is not shown again:")}</p><p class="row"><code class="secret">${issued.secret || issued.key_secret}</code>
      <${Button} icon="copy" label=${t("Copy")} onClick=${async () => { await copy(issued.secret); notify(t("Copied")); }} /></p></div></div>`}
    ${first ? html`<p class="dim">${t("There are no keys.")}</p>` : html`<div class="scroll" tabindex="0"><table class="list"><thead><tr>${[t("Name"), t("Role"), t("Access to"), t("Created"), t("Used"), t("Ends"), t("State")].map((heading) => html`<th scope="col">${heading}</th>`)}<td></td></tr></thead>
      <tbody>${(found.value?.keys || []).map((key) => html`<tr key=${key.id}><td dir="auto">${key.name}</td><td>${key.sites ? html`${t("Widget")} <span class="dim" dir="ltr">${key.sites.join(", ")}</span>` : key.role}</td><td dir="auto">${key.collections?.join(", ") ?? t("All collections")}</td><td>${when(key.created_at)}</td>
        <td>${key.used_at ? when(key.used_at) : t("never")}</td><td>${key.expires_at ? when(key.expires_at) : t("never")}</td><td>${key.revoked_at ? t("Revoked") : t("Valid")}</td>
        <td>${!key.revoked_at && html`<${Button} icon="trash" quiet label=${t("Revoke {name}", { name: key.name })} onClick=${() => revoke(key)} />`}</td></tr>`)}</tbody></table></div>`}`;
}

// What is typed as the address of a site, as its origin.
function sites(text) {
  return text.split(/[\s,]+/).filter(Boolean).map((site) => {
    try { return new URL(/^https?:/.test(site) ? site : `https://${site}`).origin; } catch { return site; }
  });
}

function tag(id) {
  return `<script src="${new URL("web/widget.js", location.href.split("#")[0])}" data-widget="${id}" async></script>`;
}

const KINDS = {
  ingest: "Adding documents", rebuild: "Reindexing", delete: "Deleting documents", readers: "Changing who can read", source: "Syncing a source",
  ask: "Answering in the background", question_set: "Evaluation", evaluation: "Measurement",
};

function Jobs() {
  const found = useLoaded(() => request("/api/v1/jobs"), []);
  useEffect(() => {
    if (!found.value?.jobs.some((job) => ["queued", "running"].includes(job.state))) return undefined;
    const timer = setTimeout(found.reload, 2000);
    return () => clearTimeout(timer);
  }, [found.value]);
  const steer = (id, action) => tried(() => request(`/api/v1/jobs/${encodeURIComponent(id)}/${action}`, { method: "POST" }), found.reload);
  if (found.error) return html`<${Failure} error=${found.error} again=${found.reload} />`;
  if (!found.value) return html`<${Busy} />`;
  const actions = { queued: ["cancel", "pause"], running: ["cancel", "pause"], paused: ["resume", "cancel"], failed: ["retry"], cancelled: ["retry"], done: [] };
  const names = { cancel: t("Cancel"), pause: t("Pause"), resume: t("Resume"), retry: t("Retry") };
  const states = { queued: t("Queued"), running: t("Running"), paused: t("Paused"), done: t("Done"), failed: t("Failed"), cancelled: t("Cancelled") };
  return html`<div class="row end"><${Button} icon="again" label=${t("Refresh")} onClick=${found.reload} /></div>
    ${!found.value.jobs.length && html`<p class="dim">${t("There are no jobs.")}</p>`}
    <ul class="jobs">${found.value.jobs.map((job) => html`<li key=${job.id} class="card"><div class="row spread"><span><strong>${t(KINDS[job.kind] ?? job.kind)}</strong> <span class="badge">${states[job.state]}</span> <span class="dim" dir="auto">${[job.collection, job.user, when(job.created_at)].filter(Boolean).join(" · ")}</span></span>
      <span class="row">${actions[job.state].map((action) => html`<${Button} kind="small" label=${names[action]} onClick=${() => steer(job.id, action)} />`)}</span></div>
      ${["running", "queued"].includes(job.state) && html`<${Bar} share=${job.progress.share} />`}
      ${job.progress.files !== undefined && html`<p class="dim">${t("{indexed} indexed, {unchanged} unchanged, {failed} failed", { indexed: job.progress.indexed, unchanged: job.progress.unchanged, failed: job.progress.failed?.length ?? 0 })}${job.eta ? ` · ${t("{time} left", { time: duration(job.eta) })}` : ""}</p>`}
      ${job.progress.failed?.length > 0 && html`<ul class="plain">${job.progress.failed.slice(0, 20).map((file) => html`<li class="bad" dir="auto">${file.path}: ${reasonFor(file.path, file.reason)}</li>`)}</ul>`}
      ${job.error && html`<p class="bad" dir="auto">${job.error}</p>`}</li>`)}</ul>`;
}

function Feedback() {
  const found = useLoaded(() => call("feedback.list_all", { limit: 500 }), []);
  if (found.error) return html`<${Failure} error=${found.error} again=${found.reload} />`;
  if (!found.value) return html`<${Busy} />`;
  // What `ragstone eval` reads: a question in each line.
  const out = () => save("feedback.jsonl", found.value.map((rating) => JSON.stringify(rating)).join("\n"), "application/jsonl");
  if (!found.value.length) return html`<p class="dim">${t("Nobody has rated an answer yet.")}</p>`;
  const collections = [...new Set(found.value.map((rating) => rating.collection))];
  return html`<div class="row end">${may("evaluation.from_feedback") && collections.map((collection) => html`<${Button} key=${collection} icon="evaluate" label=${t("Questions about {collection} for an evaluation", { collection: collection })} onClick=${() => tried(async () => (await import("./evaluate.js")).fromFeedback(collection))} />`)}
      <${Button} icon="save" label=${t("Download")} onClick=${out} /></div>
    <div class="scroll" tabindex="0"><table class="list"><thead><tr>${[t("When"), t("Who"), t("Rating"), t("Question"), t("Answer"), t("Comment")].map((heading) => html`<th scope="col">${heading}</th>`)}</tr></thead>
    <tbody>${found.value.map((rating) => html`<tr key=${rating.user + rating.answer_id}><td>${when(rating.at)}</td><td dir="auto">${rating.user}</td><td><${Icon} name=${rating.thumb} /><span class="unseen">${rating.thumb === "up" ? t("Good answer") : t("Bad answer")}</span></td>
      <td dir="auto">${rating.question}</td><td dir="auto">${rating.answer.slice(0, 300)}</td><td dir="auto">${rating.comment}</td></tr>`)}</tbody></table></div>`;
}
