// The audit trail: who did what, and what came of it.
import { html, useEffect, useState } from "./lib.js";
import { request } from "./api.js";
import { Busy, Button, Choice, Failure } from "./ui.js";
import { number, sentence, t, when } from "./words.js";

const PAGE = 100; // Events that are loaded at once.
const KINDS = { "sign-in": "Signed in", "sign-out": "Signed out", ask: "Asked", read: "Read", change: "Changed", export: "Exported", delete: "Deleted", request: "Other requests" };
const OUTCOMES = { allowed: "Allowed", refused: "Refused", failed: "Failed" };
const BADGES = { allowed: "high", refused: "low", failed: "medium" };
const DAY = 86_400;

export function AuditView() {
  const [form, setForm] = useState({ user: "", kind: "", outcome: "", about: "", from: "", to: "" });
  const [found, setFound] = useState({ events: [] });
  const set = (name) => (value) => setForm({ ...form, [name]: value });
  const load = async (earlier) => {
    const time = (day, more) => (day ? new Date(`${day}T00:00`).getTime() / 1000 + more : "");
    const asked = { user: form.user, kind: form.kind, outcome: form.outcome, about: form.about, since: time(form.from, 0), until: time(form.to, DAY), before: earlier.at(-1)?.id, limit: PAGE };
    const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value));
    setFound({ events: earlier, busy: true });
    try {
      const page = await request(`/api/v1/audit?${query}`);
      setFound({ ...page, events: [...earlier, ...page.events], more: page.events.length === PAGE });
    } catch (error) {
      setFound({ events: earlier, error });
    }
  };
  useEffect(() => { load([]); }, []);
  const all = (names) => [["", t("All")], ...Object.entries(names).map(([key, name]) => [key, t(name)])];
  const field = (name, label, type = "text") => html`<label class="field"><span>${label}</span><input type=${type} dir="auto" value=${form[name]} onInput=${(event) => set(name)(event.target.value)} /></label>`;
  // Nothing but a trail that is not kept is wrong with what this page asks.
  if (found.error?.code === "invalid_request") return html`<p>${sentence(found.error)}</p>`;
  return html`<form class="card options" onSubmit=${(event) => { event.preventDefault(); load([]); }}>
      ${field("user", t("Who"))}<${Choice} label=${t("What was done")} value=${form.kind} options=${all(KINDS)} onChange=${set("kind")} />
      <${Choice} label=${t("Outcome")} value=${form.outcome} options=${all(OUTCOMES)} onChange=${set("outcome")} />
      ${field("about", t("About"))}${field("from", t("Since"), "date")}${field("to", t("Until"), "date")}<p><button class="button primary">${t("Show")}</button></p></form>
    ${found.error && html`<${Failure} error=${found.error} again=${() => load(found.events)} />`}
    ${found.lost > 0 && html`<div class="callout bad"><div>${t("{count} events were lost; the server's log says why.", { count: number(found.lost) })}</div></div>`}
    ${found.events.length > 0 && html`<div class="scroll" tabindex="0"><table class="list"><thead><tr>${[t("When"), t("Who"), t("What was done"), t("About"), t("Outcome"), t("Address")].map((heading) => html`<th scope="col">${heading}</th>`)}</tr></thead>
      <tbody>${found.events.map((event) => html`<tr key=${event.id}><td class="time">${when(event.at)}</td><td dir="auto">${event.user || "–"}</td><td>${t(KINDS[event.kind] ?? event.kind)} <span class="dim"><bdi dir="ltr">${event.operation}</bdi></span></td><td dir="auto">${event.what}</td>
        <td><span class=${`badge ${BADGES[event.outcome]}`}>${t(OUTCOMES[event.outcome])}</span> <span class="dim">${event.detail}${event.count > 1 && ` × ${number(event.count)}`}</span></td><td><bdi dir="ltr">${event.address}</bdi></td></tr>`)}</tbody></table></div>`}
    ${found.busy && html`<${Busy} />`}${!found.busy && !found.error && !found.events.length && html`<p class="dim">${t("No events match.")}</p>`}
    ${found.more && !found.busy && html`<${Button} label=${t("Show more")} onClick=${() => load(found.events)} />`}`;
}
