// Signing in at the issuer of tokens (OIDC): Authorization Code with PKCE. The server exchanges the code.
import { request } from "./api.js";
import { t } from "./words.js";

const BEGUN = "ragstone.sign-in";

// Where people sign in: {provider, authorize}, an empty provider for nowhere.
export function signInAt() {
  return request("/sign-in");
}

// Browsers compute a challenge only where nobody can change the page on its way.
export const safe = Boolean(globalThis.crypto?.subtle);

// Go to the provider's page; what is being written is kept until this one is back.
export async function begin({ provider, authorize }, draft) {
  const begun = { provider, draft, hash: location.hash, state: random(), nonce: random(), verifier: random() };
  sessionStorage.setItem(BEGUN, JSON.stringify(begun));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(begun.verifier));
  const own = { redirect_uri: redirect(), state: begun.state, nonce: begun.nonce, code_challenge: base64url(new Uint8Array(digest)) };
  const address = new URL(authorize);
  for (const [name, value] of Object.entries(own)) address.searchParams.set(name, value);
  location.assign(address);
}

// Back from the provider: {token, draft}; null where the address says nothing of it. Raises what went wrong.
export async function end() {
  const said = new URLSearchParams(location.search);
  if (!said.has("state") || !(said.has("code") || said.has("error"))) return null;
  const begun = JSON.parse(sessionStorage.getItem(BEGUN) || "{}");
  sessionStorage.removeItem(BEGUN);
  // Out of the address at once: it would stay in the history.
  history.replaceState(null, "", `./${begun.hash || "#/ask"}`);
  if (said.get("state") !== begun.state) throw new Error(t("This sign-in was not begun in this tab. Sign in again."));
  const { provider } = begun;
  if (said.get("error") === "access_denied") throw new Error(t("{provider} did not let you in, or it was cancelled.", { provider }));
  if (said.has("error")) throw new Error(t("{provider} says that signing in is not possible: {error}", { provider, error: said.get("error") }));
  const json = { code: said.get("code"), verifier: begun.verifier, nonce: begun.nonce, redirect: redirect() };
  const { token } = await request("/sign-in", { method: "POST", json });
  return { token, draft: begun.draft };
}

function redirect() {
  return new URL("./", location.href).href;
}

function random() {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
