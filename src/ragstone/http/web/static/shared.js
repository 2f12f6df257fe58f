// A conversation that somebody shows to others, as far as its reader may read what it stands on.
import { html, page, update, useEffect, useLoaded } from "./lib.js";
import { call, may } from "./api.js";
import { Answer } from "./answer.js";
import { Evidence, stored } from "./ask.js";
import { Busy, Button, Failure } from "./ui.js";
import { number, t, when } from "./words.js";

export default function SharedPage() {
  const [, id] = page.route;
  const found = useLoaded(async () => {
    const shared = await call("shares.read", { id: id || "-" });
    return { ...shared, turns: shared.turns.map(stored) };
  }, [id, page.session]);
  useEffect(() => { update({ panel: null }); }, [id]);
  const shown = found.value;
  let body = html`<${Busy} />`;
  if (!may("shares.read")) body = html`<p>${t("Sign in to read this conversation.")}</p><${Button} icon="key" kind="primary" label=${t("Sign in")} onClick=${() => update({ signsIn: true })} />`;
  else if (found.error) body = html`<${Failure} error=${found.error} again=${found.reload} />`;
  else if (shown) {
    body = html`<p class="dim" dir="auto">${t("Shared by {name} · as it was on {time}", { name: shown.user, time: when(shown.until) })}</p>
      ${shown.turns.map((turn) => html`<${Answer} key=${turn.id} turn=${turn} fixed />`)}
      ${shown.withheld > 0 && html`<p class="note">${t("Withheld, as you may not read every document that supports them: {number}", { number: number(shown.withheld) })}</p>`}`;
  }
  return html`<div class="ask"><div class="talk"><h1 dir="auto">${shown?.title || t("Shared conversation")}</h1>${body}</div></div>
    ${page.panel && html`<${Evidence} ...${page.panel} />`}`;
}
