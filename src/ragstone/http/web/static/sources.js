// What collections are kept in sync with: each source with its schedule, its runs and what is wrong with it.
import { html, go, notify, page, useEffect, useLoaded, useRef, useState } from "./lib.js";
import { call, may, request } from "./api.js";
import { readerNames } from "./readers.js";
import { ask as askUser, Bar, Busy, Button, Choice, Failure, Icon } from "./ui.js";
import { duration, language, number, sentence, t, when } from "./words.js";

const STATES = { running: "Running", done: "Done", failed: "Failed", stopped: "Stopped" };
const BADGES = { done: "high", failed: "low", stopped: "medium" };
const LOOK_MS = 1500; // How often it is looked how far a run is.
const SHOWN = 20; // Failures of a run that are shown.

// What only the server's operator may give is not offered to others.
const isOperator = () => may("maintenance.back_up");

async function act(work, after) {
  try { await after?.(await work()); } catch (error) { notify(sentence(error), "bad"); }
}

// Loads sources, again and again while a run of one goes on or is about to begin.
function useFollowed(load, keys) {
  const found = useLoaded(load, keys);
  useEffect(() => {
    const busy = ({ last, next_at: at }) => last?.state === "running" || (at !== null && at * 1000 < Date.now() + LOOK_MS);
    if (!found.value?.sources.some(busy)) return undefined;
    const timer = setTimeout(found.reload, LOOK_MS);
    return () => clearTimeout(timer);
  }, [found.value]);
  return found;
}

export function SourcesView() {
  const [, , name] = page.route;
  return name ? html`<${OneSource} key=${name} name=${name} />` : html`<${AllSources} />`;
}

function AllSources() {
  const found = useFollowed(async () => ({ sources: await call("sources.list") }), []);
  const [adding, setAdding] = useState(false);
  if (found.error) return html`<${Failure} error=${found.error} again=${found.reload} />`;
  if (!found.value) return html`<${Busy} />`;
  const added = (source) => { setAdding(false); go("admin", "sources", source.name); };
  return html`<p>${t("A source keeps a collection in sync with a place where documents are: what is new or changed is indexed, and what is gone is removed.")}</p>
    ${adding ? html`<${AddSource} onDone=${added} onCancel=${() => setAdding(false)} />` : html`<div class="row end"><${Button} icon="again" label=${t("Refresh")} onClick=${found.reload} />
      <${Button} icon="plus" kind="primary" label=${t("Add a source")} onClick=${() => setAdding(true)} /></div>`}
    ${!found.value.sources.length && !adding && html`<p class="dim">${t("There are no sources yet.")}</p>`}
    <ul class="jobs">${found.value.sources.map((source) => html`<li key=${source.name} class="card">
      <div class="row spread"><span><a href=${`#/admin/sources/${encodeURIComponent(source.name)}`}><strong dir="auto">${source.name}</strong></a> ${source.last && html`<${State} run=${source.last} />`} <span class="dim" dir="auto">${`${source.kind} → ${source.collection}`}</span></span><${Sync} source=${source} after=${found.reload} /></div>
      <p class="dim">${[scheduleText(source), next(source)].filter(Boolean).join(" · ")}</p>
      ${source.last && html`<p>${when(source.last.started_at)}: ${counts(source.last)}</p><${Trouble} run=${source.last} />`}</li>`)}</ul>`;
}

function OneSource({ name }) {
  const found = useFollowed(async () => {
    const [source, runs] = [await call("sources.show", { name }), await call("sources.runs", { name, limit: 100 })];
    return { sources: [{ ...source, last: runs[0] ?? null }], runs };
  }, [name]);
  const [changing, setChanging] = useState(false);
  const all = html`<p><a href="#/admin/sources">${t("All sources")}</a></p>`;
  if (found.error) return html`${all}<${Failure} error=${found.error} again=${found.reload} />`;
  if (!found.value) return html`<${Busy} />`;
  const { sources: [source], runs } = found.value;
  const held = runs.find((run) => run.state === "done" && !run.dry);
  const removals = () => act(() => call("sources.sync", { name, accept_removals: true }), found.reload);
  const remove = async (documents) => {
    const text = documents ? t("Its documents are deleted from the collection {collection}. The place they came from stays as it is.", { collection: source.collection }) : t("Its documents stay, and are no longer kept in sync.");
    if (!(await askUser({ title: t("Remove the source {name}?", { name }), text, confirm: t("Remove"), danger: true }))) return;
    await act(() => call("sources.remove", { name, documents }), () => { notify(t("The source was removed.")); go("admin", "sources"); });
  };
  return html`${all}<div class="row spread"><h2 dir="auto">${name}</h2><span class="row"><${Sync} source=${source} after=${found.reload} dry />
      ${!changing && html`<${Button} icon="edit" label=${t("Change")} onClick=${() => setChanging(true)} />`}</span></div>
    ${held?.held > 0 && html`<div class="callout bad" role="status"><${Icon} name="warn" /><div><p>${heldText(held)}</p><${Button} label=${t("Remove these documents")} onClick=${removals} /></div></div>`}
    ${changing ? html`<${ChangeSource} source=${source} onDone=${() => { setChanging(false); found.reload(); }} onCancel=${() => setChanging(false)} />` : html`<section class="card"><dl class="figures">
      ${[[t("Kind"), source.kind], [t("Collection"), source.collection], [t("Schedule"), scheduleText(source)], [t("Next run"), source.next_at ? dueText(source) : "–"],
        [t("Who can read it"), source.readers.join(", ") || t("As folder and collection say")], ...Object.entries(source.options)].map(([label, value]) => html`<div key=${label}><dt>${label}</dt><dd dir="auto">${value}</dd></div>`)}</dl></section>`}
    <h3>${t("Runs")}</h3>${!runs.length && html`<p class="dim">${t("Not synced yet.")}</p>`}
    <ul class="jobs">${runs.map((run) => html`<li key=${run.id} class="card"><div class="row spread"><span>${when(run.started_at)} <${State} run=${run} />${run.dry && html` <span class="badge">${t("Dry run")}</span>`}
        ${run.ended_at > 0 && html` <span class="dim">${duration(run.ended_at - run.started_at)}</span>`}</span>
        ${run.state === "running" && html`<${Button} kind="small" label=${t("Cancel")} onClick=${() => act(() => request(`/api/v1/jobs/${encodeURIComponent(run.id)}/cancel`, { method: "POST" }), found.reload)} />`}</div>
      ${run.state === "running" && html`<${Bar} />`}<p>${counts(run)}</p>${run.error && html`<p class="bad" dir="auto">${run.error}</p>`}
      ${run.notes.map((note) => html`<p class="dim" dir="auto">${note}</p>`)}
      ${run.failures.length > 0 && html`<details><summary>${t("What failed")}</summary><ul class="plain">${run.failures.slice(0, SHOWN).map((failure) => html`<li class="bad" dir="auto">${failure.path}: ${failure.reason}</li>`)}</ul>
        ${run.failed > SHOWN && html`<p class="hint">${t("and {count} more", { count: number(run.failed - Math.min(SHOWN, run.failures.length)) })}</p>`}</details>`}</li>`)}</ul>
    <h3>${t("Remove")}</h3><div class="row"><${Button} icon="trash" label=${t("Remove, keep the documents")} onClick=${() => remove(false)} />
      <${Button} icon="trash" kind="danger" label=${t("Remove with the documents")} onClick=${() => remove(true)} /></div>`;
}

function State({ run }) {
  return html`<span class=${`badge ${BADGES[run.state] || ""}`}>${t(STATES[run.state])}</span>`;
}

function Sync({ source, after, dry }) {
  const name = source.name;
  const busy = source.last?.state === "running";
  return html`<span class="row"><${Button} icon="again" label=${t("Sync now")} disabled=${busy} aria-label=${`${t("Sync now")}: ${name}`} onClick=${() => act(() => call("sources.sync", { name }), after)} />
    ${dry && html`<${Button} label=${t("Dry run")} disabled=${busy} title=${t("Only counts what would be done.")} onClick=${() => act(() => call("sources.sync", { name, dry: true }), after)} />`}</span>`;
}

function counts(run) {
  const names = ["added", "changed", "rights", "removed", "failed", "unchanged"].filter((name) => run[name]);
  const figures = Object.fromEntries(names.map((name) => [name, number(run[name])]));
  const said = { added: t("{added} added", figures), changed: t("{changed} changed", figures), rights: t("{rights} with other readers", figures),
    removed: t("{removed} removed", figures), failed: t("{failed} failed", figures), unchanged: t("{unchanged} unchanged", figures) };
  return names.map((name) => said[name]).join(" · ") || t("No documents");
}

// The first field of a form that has come has the keyboard.
function useFirstField(ready) {
  const form = useRef(null);
  useEffect(() => { form.current?.querySelector("select, input")?.focus(); }, [ready]);
  return form;
}

const heldText = (run) => t("{count} documents are gone from the source at once. They stay until you accept that.", { count: number(run.held) });

// What is wrong with a source, in a sentence.
function Trouble({ run }) {
  const [first] = run.failures;
  const said = run.error || (run.held && heldText(run)) || (first && `${first.path}: ${first.reason}`) || run.notes[0];
  return said ? html`<p class=${run.error || run.held || first ? "bad" : "dim"} dir="auto">${said}</p>` : null;
}

const INTERVALS = [900, 3600, 21_600, 86_400];
const UNITS = [[86_400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];

function scheduleText({ every, cron }) {
  if (every === null) return cron ?? t("Manually");
  const [seconds, unit] = UNITS.find(([length]) => every % length === 0) || UNITS[3];
  if (every === 3600) return t("Every hour");
  if (every === 86_400) return t("Every day");
  return t("Every {time}", { time: new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(every / seconds) });
}

const dueText = ({ next_at: at }) => (at * 1000 <= Date.now() ? t("Now") : when(at));
const next = (source) => source.next_at && `${t("Next run")}: ${dueText(source)}`;

function AddSource({ onDone, onCancel }) {
  const kinds = useLoaded(() => call("sources.kinds"), []);
  const collections = useLoaded(() => call("collections"), []);
  const [form, setForm] = useState({ name: "", kind: "", collection: "default", options: {}, schedule: { every: 3600, cron: null }, readers: "" });
  const box = useFirstField(Boolean(kinds.value));
  if (kinds.error) return html`<${Failure} error=${kinds.error} again=${kinds.reload} />`;
  if (!kinds.value) return html`<${Busy} />`;
  const offered = kinds.value.filter((kind) => isOperator() || !kind.of_server);
  const kept = kinds.value.filter((kind) => !offered.includes(kind)).map((kind) => kind.name).join(", ");
  const kind = offered.find((kind) => kind.name === form.kind) || offered[0];
  const why = kept && html`<p class="hint">${t("Only the operator of the server can add these kinds, as they read what is on it: {kinds}.", { kinds: kept })}</p>`;
  if (!kind) return html`<div class="card">${why}<${Button} label=${t("Cancel")} onClick=${onCancel} /></div>`;
  const set = (name) => (value) => setForm({ ...form, [name]: value });
  const sent = (event) => {
    event.preventDefault();
    const options = Object.fromEntries(kind.options.map(({ name }) => [name, form.options[name]]).filter(([, value]) => value));
    act(() => call("sources.add", { name: form.name.trim(), kind: kind.name, collection: form.collection.trim(), options, ...form.schedule, readers: readerNames(form.readers), operator: isOperator() }), onDone);
  };
  return html`<form class="card" ref=${box} onSubmit=${sent}><h2>${t("Add a source")}</h2><div class="options">
      <${Choice} label=${t("Kind")} value=${kind.name} options=${offered.map((kind) => [kind.name, kind.name])} onChange=${set("kind")} />
      <label class="field"><span>${t("Name")}</span><input required maxlength="100" pattern="[A-Za-z0-9][A-Za-z0-9._\\-]*" placeholder="handbook" dir="ltr" value=${form.name} onInput=${(event) => set("name")(event.target.value)} /></label>
      <label class="field"><span>${t("Collection")}</span><input required maxlength="255" list="collections" dir="auto" value=${form.collection} onInput=${(event) => set("collection")(event.target.value)} /></label>
      <datalist id="collections">${(collections.value || []).map((collection) => html`<option value=${collection.collection.name} />`)}</datalist></div>
    <p class="hint" dir="auto">${kind.help}</p>${why}
    <${Options} kind=${kind} values=${form.options} onChange=${set("options")} /><${Schedule} value=${form.schedule} onChange=${set("schedule")} /><${Readers} value=${form.readers} onChange=${set("readers")} />
    <div class="row end"><${Button} label=${t("Cancel")} onClick=${onCancel} /><button class="button primary">${t("Add")}</button></div></form>`;
}

function ChangeSource({ source, onDone, onCancel }) {
  const kinds = useLoaded(() => call("sources.kinds"), []);
  const [form, setForm] = useState({ options: source.options, schedule: { every: source.every, cron: source.cron }, readers: source.readers.join(", ") });
  const box = useFirstField(Boolean(kinds.value));
  if (kinds.error) return html`<${Failure} error=${kinds.error} again=${kinds.reload} />`;
  if (!kinds.value) return html`<${Busy} />`;
  const kind = kinds.value.find((kind) => kind.name === source.kind);
  const mine = kind && (isOperator() || (!kind.of_server && !kind.options.some((option) => option.secret && source.options[option.name])));
  const set = (name) => (value) => setForm({ ...form, [name]: value });
  const sent = (event) => {
    event.preventDefault();
    const { every, cron } = form.schedule;
    const options = Object.fromEntries(Object.entries(form.options).filter(([name, value]) => value !== (source.options[name] ?? "")));
    const readers = readerNames(form.readers);
    const changes = {
      ...(every !== source.every || cron !== source.cron ? { every, cron, by_hand: every === null && cron === null } : {}),
      ...(Object.keys(options).length ? { options } : {}),
      ...(readers.join() !== source.readers.join() ? { readers } : {}),
    };
    if (!Object.keys(changes).length) return onCancel();
    return act(() => call("sources.change", { name: source.name, ...changes, operator: isOperator() }), () => { notify(t("Saved")); onDone(); });
  };
  return html`<form class="card" ref=${box} onSubmit=${sent}>
    ${mine ? html`<${Options} kind=${kind} values=${form.options} onChange=${set("options")} />` : html`<p class="hint">${t("Only the operator of the server can change the options of this source.")}</p>`}
    <${Schedule} value=${form.schedule} onChange=${set("schedule")} /><${Readers} value=${form.readers} onChange=${set("readers")} />
    <div class="row end"><${Button} label=${t("Cancel")} onClick=${onCancel} /><button class="button primary">${t("Save")}</button></div></form>`;
}

// The options of a kind as fields. A secret is named, and only the operator may.
function Options({ kind, values, onChange }) {
  const offered = kind.options.filter((option) => isOperator() || !option.secret);
  const kept = kind.options.filter((option) => !offered.includes(option)).map((option) => option.name).join(", ");
  const field = (option) => {
    const set = (value) => onChange({ ...values, [option.name]: value });
    if (option.choices.length) return html`<${Choice} key=${option.name} label=${option.name} value=${values[option.name] || option.default} options=${option.choices.map((value) => [value, value])} onChange=${set} />`;
    return html`<label key=${option.name} class="field"><span>${option.name}</span><textarea rows="1" required=${option.required} maxlength="4000" dir="ltr" autocomplete="off" value=${values[option.name] || ""}
      placeholder=${option.secret ? `env:RAGSTONE_SOURCE_${option.name.toUpperCase()}` : option.default} onInput=${(event) => set(event.target.value)}></textarea></label>`;
  };
  return html`${offered.map((option) => html`<div key=${option.name}>${field(option)}<p class="hint" dir="auto">${option.help} ${option.secret && t("Enter the name of an environment variable of the server that holds it.")}</p></div>`)}
    ${kept && html`<p class="hint">${t("Only the operator of the server can use its secrets here: {names}.", { names: kept })}</p>`}`;
}

function Schedule({ value, onChange }) {
  const { every, cron } = value;
  const known = [...new Set([...INTERVALS, ...(every === null ? [] : [every])])].map((seconds) => [String(seconds), scheduleText({ every: seconds })]);
  const chosen = (key) => onChange({ every: Number(key) || null, cron: key === "cron" ? "0 6 * * mon-fri" : null });
  return html`<div class="options"><${Choice} label=${t("Schedule")} value=${cron === null ? String(every ?? "") : "cron"} onChange=${chosen} options=${[["", t("Manually")], ...known, ["cron", t("At set times")]]} />
      ${cron !== null && html`<label class="field"><span>${t("Cron expression")}</span><input required maxlength="100" dir="ltr" value=${cron} onInput=${(event) => onChange({ every: null, cron: event.target.value })} /></label>`}</div>
    ${cron !== null && html`<p class="hint">${t("Minute, hour, day of the month, month, day of the week, in the time zone of the server.")}</p>`}`;
}

function Readers({ value, onChange }) {
  return html`<label class="field"><span>${t("Who can read items that have no readers of their own")}</span><input maxlength="10000" dir="ltr" value=${value} placeholder=${t("As folder and collection say")} onInput=${(event) => onChange(event.target.value)} /></label>
    <p class="hint">${t("Groups and people by their names, such as {example}", { example: "group:hr, user:ada" })}</p>`;
}
