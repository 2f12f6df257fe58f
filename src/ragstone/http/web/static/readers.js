// Who may read documents, and why; who administers the collection says it here.
import { html, notify, page, update, useLoaded, useState } from "./lib.js";
import { call, isAdmin, may, principal } from "./api.js";
import { ask as askUser, Busy, Button, Failure } from "./ui.js";
import { sentence, t } from "./words.js";

// The names of groups and people, as the server knows them.
export function readerNames(text) {
  return text.split(",").map((name) => name.trim()).filter(Boolean).map((name) => (name === "everyone" ? "*" : name));
}

const said = (readers) => readers.map((name) => (name === "*" ? "everyone" : name)).join(", ");
const shown = (readers) => readers.map((name) => (name === "*" ? t("Everyone") : name)).join(", ") || t("Nobody");

// Ask for readers; none are those of folder and collection. Null where nothing is to be done.
export async function wantedReaders(what, now) {
  const text = await askUser({ title: t("Who can read it"), text: `${what}. ${t("Leave it empty for what folders and the collection say.")}`,
    field: t("Groups and people by their names, such as {example}", { example: "group:hr, user:ada" }), value: said(now), confirm: t("Save") });
  const names = text === null ? null : readerNames(text);
  return names && (await agreed(names)) ? names : null;
}

// Whoever administers a collection may close something to itself, but not unawares.
async function agreed(names) {
  const mine = ["*", `user:${principal().user}`, ...principal().groups.map((name) => `group:${name}`)];
  if (!names.length || names.some((name) => mine.includes(name))) return true;
  return askUser({ title: t("Who can read it"), text: t("You are not among them, and will no longer find it here."), confirm: t("Save"), danger: true });
}

// The readers of a folder, for what is in it and for what comes; of the collection without one.
export async function setFolderReaders(collection, folder = "") {
  try {
    const rules = await call("readers.folders", { collection }).catch(() => []);
    const known = rules.find((rule) => rule.folder === folder && rule.by === "administrator");
    const readers = await wantedReaders(folder || collection, known ? known.readers : []);
    if (!readers) return;
    await call("readers.set_folder", { collection, folder, readers });
    notify(`${folder || collection}: ${readers.length ? shown(readers) : t("No readers of its own")}`);
    update({ ingested: (page.ingested || 0) + 1 });
  } catch (error) { notify(sentence(error), "bad"); }
}

function because({ kind, place }) {
  return { document: t("Set for the document"), told: t("Said when it came in"), folder: t("Set for the folder {folder}", { folder: place }),
    file: t("The file ragstone.yaml of the folder {folder}", { folder: place }), collection: t("Set for the collection"), default: t("Nothing else is said") }[kind];
}

export function DocumentReaders({ collection, id }) {
  const found = useLoaded(() => call("readers.explain", { collection, path: id, admin: isAdmin() }), [collection, id, page.ingested]);
  const [text, setText] = useState(null);
  if (found.error) return html`<${Failure} error=${found.error} again=${found.reload} />`;
  if (!found.value) return html`<${Busy} />`;
  const { readers, reasons } = found.value;
  const own = reasons.at(-1).kind === "document" || reasons.at(-1).kind === "told" ? said(reasons.at(-1).readers) : "";
  const give = async (names) => {
    if (!(await agreed(names))) return;
    try {
      await call("readers.give", { collection, readers: names, paths: [id] });
      setText(null);
      notify(t("Saved"));
      update({ ingested: (page.ingested || 0) + 1 });
      found.reload();
    } catch (error) { notify(sentence(error), "bad"); }
  };
  const sent = (event) => { event.preventDefault(); give(readerNames(text ?? own)); };
  return html`<section class="grants" aria-label=${t("Who can read it")}><p><strong dir="auto">${shown(readers)}</strong></p>
    <h2>${t("Why")}</h2><ol class="reasons">${reasons.map((reason) => html`<li key=${reason.kind + reason.place}><span dir="auto">${because(reason)}</span>: <span dir="auto">${shown(reason.readers)}</span></li>`)}</ol>
    ${may("readers.give") && html`<form onSubmit=${sent}><label class="field"><span>${t("Groups and people by their names, such as {example}", { example: "group:hr, user:ada" })}</span>
        <input type="text" maxlength="10000" value=${text ?? own} onInput=${(event) => setText(event.target.value)} /></label>
      <p class="hint">${t("Leave it empty for what folders and the collection say.")}</p>
      <div class="row"><${Button} kind="primary" type="submit" label=${t("Save")} /></div></form>`}</section>`;
}
