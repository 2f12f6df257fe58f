// Quotas: what may be used of chat models in a month, and how much of it is.
import { html, notify, useLoaded, useState } from "./lib.js";
import { call } from "./api.js";
import { Bar, Busy, Button, Failure } from "./ui.js";
import { number, percent, sentence, t, when } from "./words.js";

// The share that is used, of tokens or money, whichever is more.
export function share(quota) {
  const of = (used, limit) => (limit === null ? 0 : limit ? used / limit : 1);
  return Math.max(of(quota.used_tokens, quota.tokens), of(quota.used_cost, quota.cost));
}

const money = (value) => `$${number(value, 2)}`;

// What is used of a quota, in words.
export function used(quota) {
  const parts = [quota.tokens !== null && t("{used} of {limit} tokens", { used: number(quota.used_tokens), limit: number(quota.tokens) }),
    quota.cost !== null && t("{used} of {limit}", { used: money(quota.used_cost), limit: money(quota.cost) })];
  return parts.filter(Boolean).join(" · ");
}

export function QuotasView() {
  const found = useLoaded(() => call("quotas.list_all"), []);
  const [form, setForm] = useState({ subject: "", tokens: "", cost: "" });
  const put = (name) => (event) => setForm({ ...form, [name]: event.target.value });
  const act = async (name, given) => {
    try { await call(name, given); found.reload(); return true; } catch (error) { notify(sentence(error), "bad"); return false; }
  };
  const sent = async (event) => {
    event.preventDefault();
    const given = { subject: form.subject, tokens: form.tokens === "" ? null : Number(form.tokens), cost: form.cost === "" ? null : Number(form.cost) };
    if (await act("quotas.put", given)) setForm({ subject: "", tokens: "", cost: "" });
  };
  const field = (name, label, more) => html`<label class="field"><span>${label}</span><input dir="ltr" value=${form[name]} onInput=${put(name)} ...${more} /></label>`;
  if (found.error) return html`<${Failure} error=${found.error} again=${found.reload} />`;
  if (!found.value) return html`<${Busy} />`;
  return html`<p>${t("Whoever has used up a quota gets no answers from the chat model until the month ends (UTC).")}</p>
    <form class="card options" onSubmit=${sent}>${field("subject", t("For whom"), { required: true, placeholder: "user:ada, group:hr, user:*, tenant" })}
      ${field("tokens", t("Tokens in a month"), { type: "number", min: 0 })}${field("cost", t("US dollars in a month"), { type: "number", min: 0, step: "any" })}<button class="button primary">${t("Set")}</button></form>
    ${!found.value.length ? html`<p class="dim">${t("There are no quotas.")}</p>` : html`<div class="scroll" tabindex="0"><table class="list"><thead><tr>${[t("For whom"), t("Used this month"), t("Share"), t("Ends")].map((heading) => html`<th scope="col">${heading}</th>`)}<td></td></tr></thead>
      <tbody>${found.value.map((quota) => html`<tr key=${quota.subject}><td><bdi dir="ltr">${quota.subject}</bdi></td><td>${used(quota)}</td><td class=${share(quota) >= 1 ? "bad" : ""}><${Bar} share=${Math.min(1, share(quota))} /> ${percent(share(quota))}</td><td class="time">${when(quota.ends_at)}</td>
        <td><${Button} icon="trash" quiet label=${t("Remove the quota of {subject}", { subject: quota.subject })} onClick=${() => act("quotas.remove", { subject: quota.subject })} /></td></tr>`)}</tbody></table></div>`}`;
}

// One's own quota that is used most, below the menu.
export function OwnQuota({ asked }) {
  const found = useLoaded(() => call("quotas.mine"), [asked]);
  const most = (found.value || []).reduce((quota, other) => (quota && share(quota) >= share(other) ? quota : other), null);
  if (!most) return null;
  const level = share(most) >= 1 ? "low" : share(most) >= 0.8 ? "medium" : "";
  return html`<p class="who" title=${`${used(most)} · ${t("Until {time}", { time: when(most.ends_at) })}`}><span class=${`badge ${level}`}>${t("{share} of this month's quota is used", { share: percent(share(most)) })}</span></p>`;
}
