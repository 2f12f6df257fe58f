// The settings: each with its value, where that comes from, and the way back.
import { html, notify, useLoaded, useState } from "./lib.js";
import { request } from "./api.js";
import { Busy, Button, Choice, Failure, Icon } from "./ui.js";
import { sentence, t, when } from "./words.js";

const MOST = 60; // Settings that are drawn at a time.

export function SettingsView() {
  const found = useLoaded(() => request("/api/v1/settings"), []);
  const log = useLoaded(() => request("/api/v1/settings/audit?limit=20"), []);
  const [wanted, setWanted] = useState("");
  const [only, setOnly] = useState("changeable");
  const [changed, setChanged] = useState({});
  if (found.error) return html`<${Failure} error=${found.error} again=${found.reload} />`;
  if (!found.value) return html`<${Busy} />`;
  const all = found.value.sections.flatMap((one) => one.settings).map((one) => changed[one.key] || one);
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const kept = { all: () => true, changeable: (one) => one.scopes.length > 0, set: (one) => one.source !== "default" }[only];
  const some = all.filter((one) => kept(one) && words.every((word) => `${one.key} ${one.help} ${one.variable}`.toLowerCase().includes(word)));
  const act = async (work) => {
    try {
      const value = await work();
      setChanged({ ...changed, [value.key]: value });
      notify(t("Saved. It applies from the next question."));
      log.reload();
    } catch (error) { notify(sentence(error), "bad"); }
  };
  const at = (key) => `/api/v1/settings/${encodeURIComponent(key)}`;
  const put = (key, value) => act(() => request(at(key), { method: "PUT", json: { value } }));
  const unset = (key) => act(() => request(`${at(key)}?scope=global`, { method: "DELETE" }));
  const undo = (one) => (one.old === null ? unset(one.key) : put(one.key, one.old));
  return html`<div class="row filters"><label class="search"><${Icon} name="search" /><span class="unseen">${t("Search the settings")}</span>
      <input type="search" value=${wanted} placeholder=${t("Search the settings")} onInput=${(event) => setWanted(event.target.value)} /></label>
      <${Choice} hidden label=${t("Which")} value=${only} onChange=${setOnly} options=${[["changeable", t("Changeable without restart")], ["set", t("Changed settings only")], ["all", t("All")]]} /></div>
    <p class="dim" role="status">${t("{count} settings", { count: some.length })}</p>
    <ul class="settings">${some.slice(0, MOST).map((one) => html`<${OneSetting} key=${one.key + JSON.stringify(one.value)} setting=${one} onPut=${put} onUnset=${unset} />`)}</ul>
    ${some.length > MOST && html`<p class="hint">${t("and {count} more", { count: some.length - MOST })}</p>`}
    ${log.value?.changes.length > 0 && html`<h2>${t("Changes")}</h2><ul class="plain">${log.value.changes.map((one, index) => html`<li key=${index} class="row"><span><code>${one.key}</code> ${shown(one.old)} → ${shown(one.new)} <span class="dim">${when(one.at)} · ${one.who} · ${one.scope}</span></span>
      ${one.scope === "global" && html`<${Button} kind="small" label=${t("Undo")} onClick=${() => undo(one)} />`}</li>`)}</ul>`}`;
}

function shown(value) {
  return value === null ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value);
}

function OneSetting({ setting, onPut, onUnset }) {
  const { key, value, kind, scopes, restart, secret } = setting;
  const [draft, setDraft] = useState(typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? ""));
  const fixed = !scopes.length;
  const choices = typeof value === "string" && kind.includes(", ") ? kind.split(", ") : null;
  const sent = (event) => { event.preventDefault(); onPut(key, read(draft, value, kind)); };
  let field;
  if (fixed || secret) field = html`<code>${shown(value) || "–"}</code>`;
  else if (typeof value === "boolean") field = html`<label class="row"><input type="checkbox" checked=${value} onChange=${(event) => onPut(key, event.target.checked)} /><span class="unseen">${key}</span></label>`;
  else if (choices) field = html`<${Choice} hidden label=${key} value=${value} options=${choices.map((one) => [one, one])} onChange=${(chosen) => onPut(key, chosen)} />`;
  else field = html`<form class="row" onSubmit=${sent}><label><span class="unseen">${key}</span><input value=${draft} type=${typeof value === "number" ? "number" : "text"} step="any" onInput=${(event) => setDraft(event.target.value)} /></label><button class="button small">${t("Save")}</button></form>`;
  return html`<li class="card setting"><div><code>${key}</code><p dir="auto">${setting.help}</p><p class="hint" dir="auto">${[kind, setting.bounds, `${t("from")} ${[setting.source, setting.where].filter(Boolean).join(", ")}`, restart && t("read at the start"), setting.variable].filter(Boolean).join(" · ")}</p></div>
    <div class="row">${field}${setting.source === "store" && html`<${Button} icon="again" quiet label=${t("Reset to the inherited value")} onClick=${() => onUnset(key)} />`}</div></li>`;
}

// What was typed, as the kind of value that was there.
function read(text, value, kind) {
  if (typeof value === "number" || /number/.test(kind)) return text === "" ? null : Number(text);
  if (typeof value === "object" && value !== null) { try { return JSON.parse(text); } catch { return text; } }
  return text;
}
