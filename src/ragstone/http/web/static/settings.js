// The settings: each with its value, where that comes from, and the way back.
import { html, notify, useLoaded, useState } from "./lib.js";
import { request } from "./api.js";
import { Busy, Button, Choice, Failure, Icon } from "./ui.js";
import { sentence, t, when } from "./words.js";

const MOST = 60; // Settings that are drawn at a time.

// What the sections of the settings are about, by their names.
const SECTIONS = {
  rag: "Search and answers", llm: "Chat model", llm_fallback: "Fallback chat model", embedding: "Search by meaning", rerank: "Comparing passages closely",
  reader: "Checking sentences", self_rag: "Judging answers", ensemble: "Voting between several answers", adaptive: "Understanding the question", spelling: "Spelling",
  conversation: "Conversations", cache: "Cache", ingest: "Reading documents", index: "Index", state: "Database", jobs: "Jobs", auth: "Signing in", limits: "Limits",
  server: "Server", dialects: "Interfaces for other programs", mcp: "Tools for agents (MCP)", plone: "Plone", statistics: "Statistics", telemetry: "Telemetry", log: "Log", audit: "Audit trail",
};

// The section of a setting, and its own name, as words.
function named({ key }) {
  const parts = key.split(".");
  const words = parts.pop().replaceAll("_", " ").replace(/\b(?:api|ca|csv|html|http|https|id|ip|llm|mcp|ocr|oidc|pdf|rrf|sql|tls|totp|ttl|url|uri)s?\b/g, (word) => word.toUpperCase());
  return [SECTIONS[parts[0]] ? t(SECTIONS[parts[0]]) : t("Other"), words.charAt(0).toUpperCase() + words.slice(1)];
}

export function SettingsView() {
  const found = useLoaded(() => request("/api/v1/settings"), []);
  const log = useLoaded(() => request("/api/v1/settings/audit?limit=20"), []);
  const [wanted, setWanted] = useState("");
  const [only, setOnly] = useState("changeable");
  const [changed, setChanged] = useState({});
  if (found.error) return html`<${Failure} error=${found.error} again=${found.reload} />`;
  if (!found.value) return html`<${Busy} />`;
  const all = found.value.sections.flatMap((section) => section.settings).map((setting) => changed[setting.key] || setting);
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const kept = { all: () => true, changeable: (setting) => setting.scopes.length > 0, set: (setting) => setting.source !== "default" }[only];
  const some = all.filter((setting) => kept(setting) && words.every((word) => `${named(setting).join(" ")} ${setting.key} ${setting.help} ${setting.variable}`.toLowerCase().includes(word)));
  const sections = new Map();
  for (const setting of some.toSorted((a, b) => (b.source !== "default") - (a.source !== "default")).slice(0, MOST)) {
    const title = setting.source === "default" ? named(setting)[0] : t("Changed settings");
    sections.set(title, [...(sections.get(title) || []), setting]);
  }
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
  const undo = (change) => (change.old === null ? unset(change.key) : put(change.key, change.old));
  return html`<div class="row filters"><label class="search"><${Icon} name="search" /><span class="unseen">${t("Search the settings")}</span>
      <input type="search" value=${wanted} placeholder=${t("Search the settings")} onInput=${(event) => setWanted(event.target.value)} /></label>
      <${Choice} hidden label=${t("Which")} value=${only} onChange=${setOnly} options=${[["changeable", t("Changeable without restart")], ["set", t("Changed settings only")], ["all", t("All")]]} /></div>
    <p class="dim" role="status">${t("{count} settings", { count: some.length })}</p>
    ${[...sections].map(([title, inside]) => html`<section key=${title}><h2>${title}</h2><ul class="settings">${inside.map((setting) => html`<${OneSetting} key=${setting.key + JSON.stringify(setting.value)} setting=${setting} onPut=${put} onUnset=${unset} />`)}</ul></section>`)}
    ${some.length > MOST && html`<p class="hint">${t("and {count} more", { count: some.length - MOST })}</p>`}
    ${log.value?.changes.length > 0 && html`<h2>${t("Changes")}</h2><ul class="plain">${log.value.changes.map((change, index) => html`<li key=${index} class="row"><span><code>${change.key}</code> ${shown(change.old)} → ${shown(change.new)} <span class="dim">${when(change.at)} · ${change.who} · ${change.scope}</span></span>
      ${change.scope === "global" && html`<${Button} kind="small" label=${t("Undo")} onClick=${() => undo(change)} />`}</li>`)}</ul>`}`;
}

function shown(value) {
  return value === null ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value);
}

function OneSetting({ setting, onPut, onUnset }) {
  const { key, value, kind, scopes, restart, secret } = setting;
  const [section, title] = named(setting);
  const [draft, setDraft] = useState(typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? ""));
  const fixed = !scopes.length;
  const choices = typeof value === "string" && kind.includes(", ") ? kind.split(", ") : null;
  const sent = (event) => { event.preventDefault(); onPut(key, read(draft, value, kind)); };
  let field;
  if (fixed || secret) field = html`<code>${shown(value) || "–"}</code>`;
  else if (typeof value === "boolean") field = html`<label class="row"><input type="checkbox" checked=${value} onChange=${(event) => onPut(key, event.target.checked)} /><span class="unseen">${title}</span></label>`;
  else if (choices) field = html`<${Choice} hidden label=${title} value=${value} options=${choices.map((choice) => [choice, choice])} onChange=${(chosen) => onPut(key, chosen)} />`;
  else field = html`<form class="row" onSubmit=${sent}><label><span class="unseen">${title}</span><input value=${draft} type=${typeof value === "number" ? "number" : "text"} step="any" onInput=${(event) => setDraft(event.target.value)} /></label><button class="button small">${t("Save")}</button></form>`;
  return html`<li class="card setting"><div><strong dir="auto">${title}</strong>${setting.source !== "default" && html` <span class="dim">${section}</span>`}<p dir="auto">${setting.help}</p><p class="hint" dir="auto"><code>${key}</code> · ${[kind, setting.bounds, setting.source === "default" ? t("Default") : `${t("from")} ${[setting.source, setting.where].filter(Boolean).join(", ")}`, restart && t("read at the start"), setting.variable].filter(Boolean).join(" · ")}</p></div>
    <div class="row">${field}${setting.source === "store" && html`<${Button} icon="again" quiet label=${t("Reset to the inherited value")} onClick=${() => onUnset(key)} />`}</div></li>`;
}

// What was typed, as the kind of value that was there.
function read(text, value, kind) {
  if (typeof value === "number" || /number/.test(kind)) return text === "" ? null : Number(text);
  if (typeof value === "object" && value !== null) { try { return JSON.parse(text); } catch { return text; } }
  return text;
}
