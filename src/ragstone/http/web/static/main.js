// The frame of the page: where you are, who you are, and the page that the address names.
import { html, notify, page, remember, remembered, render, route, update, useEffect, useLoaded, usePage, useState } from "./lib.js";
import { credential, enter, isAdmin, isPerson, leave, may, principal } from "./api.js";
import { AskPage, Conversations, startNew, talk } from "./ask.js";
import { loadMarkdown } from "./formatted.js";
import { Invited, PasswordForm } from "./passwords.js";
import { begin, end, safe, signInAt } from "./provider.js";
import { OwnQuota } from "./quotas.js";
import { Busy, Button, Choice, Dialog, Failure, Icon, Notice } from "./ui.js";
import { LANGUAGES, language, preferred, sentence, speak, t } from "./words.js";

const LATER = {
  documents: () => import("./documents.js"),
  notes: () => import("./notes.js"),
  shared: () => import("./shared.js"),
  graph: () => import("./graph.js"),
  why: () => import("./why.js"),
  evaluate: () => import("./evaluate.js"),
  admin: () => import("./admin.js"),
  account: () => import("./people.js"),
};

function App() {
  usePage();
  if (page.failure) return html`<main class="alone"><${Failure} error=${page.failure} again=${start} /></main>`;
  if (page.invitation) return html`<${Invited} secret=${page.invitation} done=${() => (page.session ? update({ invitation: null }) : update({ invitation: null, signsIn: true }))} />`;
  if (!page.session || page.signsIn) return html`<${SignIn} />`;
  const [where] = page.route;
  const pages = [["ask", t("Ask")], ...(may("documents") ? [["documents", t("Documents")]] : []), ...(may("notes.list_all") && principal().user ? [["notes", t("Notes")]] : []), ...(may("graph.show") ? [["graph", t("Graph")]] : []), ["why", t("Why")], ...(may("evaluation.sets") ? [["evaluate", t("Evaluate")]] : []), ...(isAdmin() ? [["admin", t("Admin")]] : [])];
  const close = () => update({ side: false });
  return html`<a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById("main").focus(); }}>${t("Skip to content")}</a>
    <header class="top"><${Button} icon="menu" quiet label=${t("Menu")} aria-expanded=${String(page.side)} onClick=${() => update({ side: !page.side })} />
      <${Brand} /></header>
    <aside class=${`side ${page.side ? "open" : ""}`} aria-label=${t("Menu")}>
      <${Brand} /><button type="button" class="button primary wide" onClick=${startNew}><${Icon} name="plus" /><span>${t("New question")}</span></button>
      <nav aria-label=${t("Pages")}>${pages.map(([name, label]) => html`<a key=${name} href=${`#/${name}`} onClick=${close}
        aria-current=${(where || "ask") === name ? "page" : null}><${Icon} name=${name} /><span>${label}</span></a>`)}</nav>
      <${Conversations} /><${Foot} /></aside>
    ${page.side && html`<div class="shade" onClick=${close}></div>`}
    <main id="main" tabindex="-1" class=${page.panel && ["ask", "notes", "shared"].includes(where || "ask") ? "split" : ""}>
      ${LATER[where] ? html`<${Later} key=${where} load=${LATER[where]} />` : html`<${AskPage} />`}</main>
    <${Notice} />${page.dialog && html`<${Dialog} key=${page.dialog.title} dialog=${page.dialog} />`}`;
}

// Escape closes the menu that covers the page, and the button that opened it has the focus again.
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !page.side) return;
  update({ side: false });
  document.querySelector(".top .button").focus();
});

// A click elsewhere or Escape closes the menu of a conversation.
function closeMenus(event) {
  for (const menu of document.querySelectorAll(".menu[open]")) {
    if (event.key === "Escape" && menu.contains(document.activeElement)) menu.firstElementChild.focus();
    if (event.key === "Escape" || (!event.key && !menu.contains(event.target))) menu.open = false;
  }
}
for (const name of ["click", "keydown"]) addEventListener(name, closeMenus);

function Brand() {
  return html`<a class="brand" href="#/ask"><img src="web/icon.svg" alt="" width="28" height="28" /><span>Ragstone</span></a>`;
}

// A page whose program comes when it is first looked at.
function Later({ load }) {
  const [Page, set] = useState(null);
  const [failed, setFailed] = useState(null);
  useEffect(() => {
    load().then((found) => set(() => found.default), () => setFailed({ code: "offline" }));
  }, []);
  if (failed) return html`<${Failure} error=${failed} again=${() => location.reload()} />`;
  return Page ? html`<${Page} />` : html`<${Busy} />`;
}

function Foot() {
  const { role, key, principal } = page.session.caller;
  const theme = remembered("theme", "auto");
  const dress = (value) => { remember("theme", value); wear(value); update({}); };
  return html`<footer class="foot">
    <details><summary><${Icon} name="theme" /><span>${t("Appearance")}</span></summary>
      <${Choice} label=${t("Language")} value=${language} options=${Object.entries(LANGUAGES)} onChange=${async (name) => { await speak(name); update({}); }} />
      <${Choice} label=${t("Colours")} value=${theme} options=${[["auto", t("Same as system")], ["light", t("Light")], ["dark", t("Dark")]]} onChange=${dress} /></details>
    ${may("quotas.mine") && html`<${OwnQuota} asked=${page.rooms} />`}
    <p class="who"><span>${isPerson() ? html`<a href="#/account" title=${t("Your account")}>${principal.user}</a>` : principal.user === GUEST ? t("Guest") : principal.user || t("Key")} · ${t(ROLES[role])}</span>
      ${credential() || key ? html`<${Button} icon="out" quiet label=${t("Sign out")} onClick=${() => leave().catch((error) => notify(sentence(error), "bad"))} />`
        : html`<${Button} icon="key" label=${t("Sign in")} onClick=${() => update({ signsIn: true })} />`}</p></footer>`;
}

const GUEST = "guest"; // The user of whoever shows no credential.
const ROLES = { reader: "read only", editor: "Editor", admin: "Administrator" };

function SignIn() {
  const [key, setKey] = useState("");
  const [failed, setFailed] = useState(page.signsIn instanceof Error ? page.signsIn : null);
  const sent = async (event) => {
    event.preventDefault();
    setFailed(null);
    try { await enter(key.trim()); }
    catch (error) { setFailed(error); }
  };
  const ways = useLoaded(signInAt, []);
  const byKey = html`<form onSubmit=${sent}><p>${t("This server asks who you are. Enter the key that its administrator gave you.")}</p>
    <label class="field"><span>${t("Key")}</span><input type="password" autocomplete="current-password" required autofocus value=${key}
      onInput=${(event) => setKey(event.target.value)} /></label>
    ${failed && html`<p class="bad" role="alert">${sentence(failed)}</p>`}
    <div class="row end">${page.session && html`<${Button} label=${t("Cancel")} onClick=${() => update({ signsIn: false })} />`}
      <button class="button primary">${t("Sign in")}</button></div>
    <p class="hint">${t("On the server, this command prints a link that signs you in:")} <code>ragstone token --login</code></p></form>`;
  return html`<main class="alone"><div class="card">
    <h1><img src="web/icon.svg" alt="" width="36" height="36" /> Ragstone</h1>
    <${Elsewhere} ways=${ways} />
    ${!ways.value && !ways.error ? html`<${Busy} />` /* Not a form that another one replaces while somebody types. */
      : !ways.value?.passwords ? byKey : !safe ? html`<p class="bad">${t("Signing in with a password needs an address with https, or localhost.")}</p>${byKey}`
      : html`<${PasswordForm} /><details><summary>${t("Sign in with a key")}</summary>${byKey}</details>`}
  </div></main>`;
}

// Signing in at the issuer of tokens, where that is set up.
function Elsewhere({ ways }) {
  const { value, error, busy, reload } = ways;
  if (error && !busy) return html`<${Failure} error=${error} again=${reload} />`;
  if (!value?.provider) return null;
  const { provider } = value;
  if (!safe) return html`<p class="bad">${t("Signing in with {provider} needs an address with https, or localhost.", { provider })}</p>`;
  const failed = talk.turns.at(-1)?.state === "failed" ? talk.turns.at(-1).question : "";
  return html`<p><${Button} icon="key" kind="primary wide" label=${t("Sign in with {provider}", { provider })} onClick=${() => begin(value, talk.draft || failed)} /></p>`;
}

function wear(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

const loginEnded = () => new Error(t("This sign-in link has expired. Open a new one, or enter a key."));

async function start() {
  update({ failure: null });
  const given = /^#key=(.+)$/.exec(location.hash)?.[1];
  // Out of the address at once: it would stay in the history.
  const ended = location.hash === "#login-ended";
  const invitation = /^#invitation=([\w-]+)$/.exec(location.hash)?.[1];
  if (given || ended || invitation) history.replaceState(null, "", "#/ask");
  update({ invitation });
  try {
    const back = await end();
    talk.draft = back?.draft || talk.draft;
    await enter(back?.token ?? (given && decodeURIComponent(given)));
    if (ended && !credential() && !page.session.caller.key) update({ signsIn: loginEnded() });
  } catch (failure) { update(failure.status === 401 ? { signsIn: given || credential() ? failure : true } : { failure }); }
}

LATER[route()[0]]?.().catch(() => { /* Tried again, and said, when the page is drawn. */ }); // While the server says who asks.
wear(remembered("theme", "auto"));
addEventListener("hashchange", () => { if (location.hash.startsWith("#invitation=")) start(); update({ route: route() }); });
await speak(preferred()).catch(() => speak("en"));
await start();
update({ route: route() });
render(html`<${App} />`, document.getElementById("app"));
loadMarkdown();
