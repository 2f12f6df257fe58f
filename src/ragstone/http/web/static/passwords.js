// Signing in with a password: the form, and the page where an invitation is accepted.
import { html, useLoaded, useState } from "./lib.js";
import { enter, request } from "./api.js";
import { Button, Failure } from "./ui.js";
import { sentence, t } from "./words.js";

export function Field({ label, value, onChange, ...rest }) {
  return html`<label class="field"><span>${label}</span><input dir="auto" autocomplete="off" value=${value} ...${rest} onInput=${(event) => onChange(event.target.value)} /></label>`;
}

const password = (rest) => ({ type: "password", required: true, maxlength: 1000, dir: "ltr", ...rest });
const NEW = password({ minlength: 12, autocomplete: "new-password" });
export const CURRENT = password({ autocomplete: "current-password" });

// A password that is typed twice: `send` gets it.
export function NewPassword({ label, before, send }) {
  const [first, setFirst] = useState("");
  const [again, setAgain] = useState("");
  const [failed, setFailed] = useState("");
  const sent = async (event) => {
    event.preventDefault();
    if (first !== again) return setFailed(t("The two passwords are not the same."));
    setFailed("");
    return send(first).catch((error) => setFailed(sentence(error)));
  };
  return html`<form onSubmit=${sent}>${before}<${Field} label=${t("New password")} value=${first} onChange=${setFirst} ...${NEW} />
    <${Field} label=${t("New password again")} value=${again} onChange=${setAgain} ...${NEW} />
    <p class="hint">${t("At least 12 characters. Several words that do not belong together are good.")}</p>
    ${failed && html`<p class="bad" role="alert">${failed}</p>`}<p><button class="button primary">${label}</button></p></form>`;
}

// Name and password, and then the code of an authenticator for who has one.
export function PasswordForm() {
  const [form, setForm] = useState({ name: "", password: "", code: "" });
  const [asked, setAsked] = useState(false);
  const [failed, setFailed] = useState(null);
  const set = (name) => (value) => setForm({ ...form, [name]: value });
  const sent = async (event) => {
    event.preventDefault();
    setFailed(null);
    try {
      const said = await request("/sign-in-password", { method: "POST", json: form });
      if (!said.code_needed) return await enter("");
      setAsked(true);
      setTimeout(() => document.querySelector("[autocomplete=one-time-code]")?.focus());
    } catch (error) { setFailed(error); }
  };
  return html`<form onSubmit=${sent}><${Field} label=${t("Name")} value=${form.name} required autofocus dir="ltr" maxlength="600" autocomplete="username" onChange=${set("name")} />
    <${Field} label=${t("Password")} value=${form.password} onChange=${set("password")} ...${CURRENT} />
    ${asked && html`<${Field} label=${t("Code of your authenticator, or a recovery code")} value=${form.code} required dir="ltr" inputmode="text" autocomplete="one-time-code" onChange=${set("code")} />`}
    ${failed && html`<p class="bad" role="alert">${sentence(failed)}</p>`}<p class="row end"><button class="button primary">${t("Sign in")}</button></p></form>`;
}

// Where an invitation leads: its owner chooses a password.
export function Invited({ secret, done }) {
  const send = (json) => request("/sign-in-invitation", { method: "POST", json: { secret, ...json } });
  const whose = useLoaded(() => send({}), [secret]);
  const choose = async (chosen) => {
    const said = await send({ password: chosen });
    await (said.code_needed ? null : enter(""));
    done();
  };
  return html`<main class="alone"><div class="card"><h1><img src="web/icon.svg" alt="" width="36" height="36" /> Ragstone</h1>
    ${whose.error && html`<${Failure} error=${whose.error} /><${Button} label=${t("Sign in")} onClick=${done} />`}
    ${whose.value && html`<p>${t("Welcome, {name}. Choose a password: nobody else knows it.", { name: whose.value.display })}</p>
      <${NewPassword} label=${t("Save and sign in")} send=${choose}
        before=${html`<${Field} label=${t("User name")} value=${whose.value.name} readonly dir="ltr" autocomplete="username" onChange=${() => {}} />`} />`}</div></main>`;
}
