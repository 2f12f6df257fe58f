// Accounts: the page of administrators, and one's own.
import { html, copy, go, notify, page, useLoaded, useState } from "./lib.js";
import { call, enter, isAdmin, isPerson, principal } from "./api.js";
import { CURRENT, Field, NewPassword } from "./passwords.js";
import { ask as askUser, Busy, Button, Choice, Failure } from "./ui.js";
import { sentence, t, when } from "./words.js";

const ROLES = { reader: "Reader: can ask", editor: "Editor: can also change documents", admin: "Administrator: everything" };
const roles = () => Object.entries(ROLES).map(([name, label]) => [name, t(label)]);
const commas = (text) => text.split(",").map((name) => name.trim()).filter(Boolean);

async function act(work, after) {
  try { await after?.(await work()); } catch (error) { notify(sentence(error), "bad"); }
}

export function PeopleView() {
  const [, , name] = page.route;
  return name ? html`<${OnePerson} key=${name} name=${name} />` : html`<${AllPeople} />`;
}

function Table({ heads, rows }) {
  return html`<div class="scroll" tabindex="0"><table class="list"><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div>`;
}

function state(person) {
  if (!person.active) return t("Deactivated");
  if (person.invited_until) return t("Invited until {time}", { time: when(person.invited_until) });
  return person.has_password || person.origin !== "here" ? t("Active") : t("Invitation ended");
}

const reach = (person) => person.collections?.join(", ") ?? t("All collections");

function AllPeople() {
  const found = useLoaded(() => call("people.list"), []);
  const [made, setMade] = useState(null);
  const first = found.value && !found.value.some((person) => person.has_password);
  if (found.error) return html`<${Failure} error=${found.error} again=${found.reload} />`;
  if (!found.value) return html`<${Busy} />`;
  const send = (rights) => act(() => call("people.invite", rights), (invitation) => { setMade(invitation); found.reload(); });
  return html`${first && html`<div class="callout"><div>${t("Once the first password is set, everybody has to sign in or use a key. Make the first account an administrator's.")}</div></div>`}
    <${Rights} key=${found.value.length} person=${{ role: first ? "admin" : "reader", groups: [], collections: null }} label=${t("Invite")} send=${send} invites />
    ${made && html`<${Link} invitation=${made} />`}
    ${!found.value.length ? html`<p class="dim">${t("There are no accounts.")}</p>` : html`<${Table} heads=${[t("Name"), t("Display name"), t("Role"), t("Groups"), t("Access to"), t("State"), t("Used")]}
      rows=${found.value.map((person) => html`<tr key=${person.name}><td><a href=${`#/admin/people/${encodeURIComponent(person.name)}`}>${person.name}</a></td><td dir="auto">${person.display}</td><td>${person.role}</td><td dir="auto">${person.groups.join(", ")}</td>
        <td dir="auto">${reach(person)}</td><td class="time">${state(person)}</td><td class="time">${person.used_at ? when(person.used_at) : t("never")}</td></tr>`)} />`}`;
}

// The address of an invitation, which is shown once.
function Link({ invitation }) {
  const address = `${location.href.split("#")[0]}#invitation=${invitation.secret}`;
  return html`<div class="callout" role="status"><div><p>${t("Give this address to {name} alone: whoever opens it first chooses the password. It is not shown again.", { name: invitation.person.name })}</p>
    <p class="row"><code class="secret" dir="ltr">${address}</code><${Button} icon="copy" label=${t("Copy")} onClick=${async () => { await copy(address); notify(t("Copied")); }} /></p></div></div>`;
}

// What somebody may; `send` gets it.
function Rights({ person, label, send, invites }) {
  const collections = useLoaded(() => call("collections"), []);
  const [form, setForm] = useState({ name: "", display: person.display || "", role: person.role, groups: person.groups.join(", "), collections: person.collections ?? [] });
  const set = (name) => (value) => setForm({ ...form, [name]: value });
  const sent = (event) => {
    event.preventDefault();
    const all = !form.collections.length;
    send({ ...(invites ? { name: form.name } : { all_collections: all }), display: form.display.trim() || null, role: form.role, groups: commas(form.groups), collections: all ? null : form.collections });
  };
  // The form does not grow under a hand that is filling it in.
  if (!collections.value && !collections.error) return html`<${Busy} />`;
  const names = [...new Set([...(collections.value || []).map((collection) => collection.collection.name), ...form.collections])];
  const choose = (name) => set("collections")(form.collections.includes(name) ? form.collections.filter((collection) => collection !== name) : [...form.collections, name]);
  return html`<form class="card" onSubmit=${sent}><div class="options">
      ${invites && html`<${Field} label=${t("User name")} value=${form.name} required maxlength="100" dir="ltr" placeholder="ada" onChange=${set("name")} />`}
      <${Field} label=${t("Display name")} value=${form.display} maxlength="255" placeholder="Ada Lovelace" onChange=${set("display")} />
      <${Choice} label=${t("Role")} value=${form.role} options=${roles()} onChange=${set("role")} />
      <${Field} label=${t("Groups, separated by commas")} value=${form.groups} maxlength="10000" onChange=${set("groups")} /></div>
    ${names.length > 0 && html`<fieldset><legend>${t("Access to these collections; none for all")}</legend><p class="row">${names.map((name) => html`<label key=${name} class="row"><input type="checkbox" checked=${form.collections.includes(name)} onChange=${() => choose(name)} /><span dir="auto">${name}</span></label>`)}</p></fieldset>`}
    <p><button class="button primary">${label}</button></p></form>`;
}

function OnePerson({ name }) {
  const found = useLoaded(() => call("people.show", { name, admin: true }), [name]);
  const [made, setMade] = useState(null);
  const all = html`<p><${Button} icon="before" label=${t("All accounts")} onClick=${() => go("admin", "people")} /></p>`;
  if (found.error) return html`${all}<${Failure} error=${found.error} again=${found.reload} />`;
  if (!found.value) return html`${all}<${Busy} />`;
  const person = found.value;
  const change = (rights) => act(() => call("people.change", { name, ...rights }), () => { notify(t("Saved")); found.reload(); });
  const factor = () => act(() => call("people.end_second_factor", { name, admin: true }), found.reload);
  const remove = async () => {
    const text = t("The questions of this user are kept. The user's keys are revoked too.");
    if (await askUser({ title: t("Remove the account {name}?", { name }), text, confirm: t("Remove"), danger: true })) act(() => call("people.remove", { name }), () => go("admin", "people"));
  };
  return html`${all}<h2 dir="auto">${person.display}</h2><p class="dim">${person.name} · ${state(person)} ${person.second_factor && html`<span class="badge">${t("Authenticator")}</span>`}</p>
    <${Rights} key=${JSON.stringify(person)} person=${person} label=${t("Save")} send=${change} />
    <p class="row">${person.origin === "here" && html`<${Button} icon="key" label=${person.has_password ? t("Invite to choose a new password") : t("Invite again")} onClick=${() => act(() => call("people.invite", { name }), (invitation) => { setMade(invitation); found.reload(); })} />`}
      ${person.second_factor && html`<${Button} label=${t("Turn the authenticator off")} onClick=${factor} />`}<${Button} icon="trash" kind="danger" label=${t("Remove the account")} onClick=${remove} /></p>
    ${made && html`<${Link} invitation=${made} />`}<${Sessions} name=${name} />`;
}

function Sessions({ name }) {
  const admin = isAdmin() && name !== principal().user;
  const found = useLoaded(() => call("people.sessions", { name, admin }), [name]);
  const end = (session) => act(() => call("people.sign_out", { name, session, admin }), found.reload);
  if (found.error) return html`<${Failure} error=${found.error} again=${found.reload} />`;
  return html`<h3>${t("Signed in")}</h3>${!found.value?.length ? html`<p class="dim">${t("Not signed in")}</p>` : html`<${Table} heads=${[t("Browser"), t("Since"), t("Used"), ""]}
      rows=${found.value.map((session) => html`<tr key=${session.id}><td dir="auto">${session.agent}</td><td class="time">${when(session.begun_at)}</td><td class="time">${when(session.used_at)}</td><td><${Button} icon="out" quiet label=${t("End this session")} onClick=${() => end(session.id)} /></td></tr>`)} />
    <p><${Button} icon="out" label=${t("Sign out everywhere")} onClick=${() => end("")} /></p>`}`;
}

// One's own account.
export default function AccountPage() {
  const name = principal().user;
  const found = useLoaded(() => (isPerson() ? call("people.show", { name }) : Promise.resolve(null)), [name]);
  const [current, setCurrent] = useState("");
  if (found.error) return html`<div class="sheet"><${Failure} error=${found.error} again=${found.reload} /></div>`;
  if (!found.value) return html`<div class="sheet">${found.busy && html`<${Busy} />`}</div>`;
  const changed = async (chosen) => { await call("people.set_password", { name, current, new: chosen }); notify(t("Saved. Sign in with the new password.")); await enter(""); };
  return html`<div class="sheet"><h1 dir="auto">${found.value.display}</h1><p class="dim">${name} · ${t(ROLES[found.value.role])} · ${reach(found.value)} ${found.value.groups.length > 0 && html`· ${found.value.groups.join(", ")}`}</p>
    <div class="tiles"><section class="card"><h2>${t("Password")}</h2><${NewPassword} label=${t("Change the password")} send=${changed}
        before=${html`<input type="text" class="unseen" readonly tabindex="-1" aria-hidden="true" autocomplete="username" value=${name} /><${Field} label=${t("Current password")} value=${current} onChange=${setCurrent} ...${CURRENT} />`} /></section>
      <${Factor} name=${name} has=${found.value.second_factor} reload=${found.reload} /></div><${Sessions} name=${name} /></div>`;
}

function Factor({ name, has, reload }) {
  const [word, setWord] = useState("");
  const [begun, setBegun] = useState(null);
  const [code, setCode] = useState("");
  const [codes, setCodes] = useState(null);
  const end = () => act(() => call("people.end_second_factor", { name, password: word }), () => { setWord(""); setCodes(null); reload(); });
  const begin = () => act(() => call("people.begin_second_factor", { name, password: word }), setBegun);
  const set = () => act(() => call("people.set_second_factor", { name, password: word, secret: begun.secret, code }), (given) => { setCodes(given); setBegun(null); setWord(""); setCode(""); reload(); });
  const sent = (event) => { event.preventDefault(); return has ? end() : begun ? set() : begin(); };
  return html`<section class="card"><h2>${t("Authenticator")}</h2><form onSubmit=${sent}>
    <p>${has ? t("Signing in asks for a code of your authenticator too.") : t("With an authenticator on your phone, nobody signs in with your password alone.")}</p>
    ${codes && html`<div class="callout" role="status"><div><p>${t("If the phone is lost, each of these lets you in once. Keep them; they are not shown again:")}</p><p dir="ltr">${codes.map((code) => html`<code key=${code}>${code}</code><br />`)}</p><${Button} icon="copy" label=${t("Copy")} onClick=${async () => { await copy(codes.join("\n")); notify(t("Copied")); }} /></div></div>`}
    ${!begun && html`<${Field} label=${t("Current password")} value=${word} onChange=${setWord} ...${CURRENT} />`}
    ${begun && html`<p><img src=${begun.picture} alt=${t("A code to scan with the authenticator")} width="200" /></p><p class="hint">${t("Or type this in the authenticator:")} <code class="secret" dir="ltr">${begun.secret}</code></p>
      <${Field} label=${t("The code that it shows")} value=${code} required dir="ltr" inputmode="numeric" autocomplete="one-time-code" onChange=${setCode} />`}
    <p><button class="button">${has ? t("Turn the authenticator off") : begun ? t("Turn it on") : t("Set up an authenticator")}</button></p></form></section>`;
}
