// The folders of a collection: to ask about one, and to look into one.
import { html, page, useLoaded } from "./lib.js";
import { call, may } from "./api.js";
import { Button, Choice } from "./ui.js";
import { number, t } from "./words.js";

const SHOWN = 100; // Folders that are drawn at a time.

// What a filter says of all that lies in a folder, and of the document itself.
export function below(path) {
  return { or: [{ any_of: ["path", path] }, { any_of: ["folders", path] }] };
}

function useFolders(collection, folder) {
  const found = useLoaded(async () => (collection && may("reading.folders") ? call("reading.folders", { collection, below: folder }) : []), [collection, folder, page.ingested]);
  return found.value || [];
}

// Those that hold this one, itself included, from the outermost in.
function holders(folder) {
  const parts = folder.split("/").filter(Boolean);
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join("/")}`);
}

// One folder to choose: those around the chosen one, and those in it.
export function FolderChoice({ collection, value, onChange }) {
  const inside = useFolders(collection, value);
  if (!value && !inside.length) return null;
  const options = [["", t("All folders")], ...holders(value).map((path) => [path, path]),
    ...inside.slice(0, SHOWN).map((inner) => [inner.path, `${inner.path} (${number(inner.documents)})`])];
  return html`<${Choice} label=${t("Folder")} value=${value} options=${options} onChange=${onChange} />`;
}

// Where one is, and the folders in there.
export function FolderPath({ collection, value, onChange }) {
  const inside = useFolders(collection, value);
  if (!value && !inside.length) return null;
  const around = holders(value);
  return html`<nav class="folders" aria-label=${t("Folders")}>
    ${value && html`<p class="row"><${Button} kind="small" label=${t("All folders")} onClick=${() => onChange("")} />
      ${around.map((path, index) => html`<span aria-hidden="true">/</span>${index + 1 < around.length
        ? html`<button type="button" class="button small" dir="auto" onClick=${() => onChange(path)}>${path.split("/").pop()}</button>`
        : html`<strong dir="auto" aria-current="location">${path.split("/").pop()}</strong>`}`)}</p>`}
    ${inside.length > 0 && html`<ul class="row">${inside.slice(0, SHOWN).map((inner) => html`<li key=${inner.path}><button type="button" class="button small" onClick=${() => onChange(inner.path)}>
      <span dir="auto">${inner.path.split("/").pop()}</span> <span class="dim">${number(inner.documents)}</span></button></li>`)}</ul>`}
    ${inside.length > SHOWN && html`<p class="hint">${t("and {count} more", { count: number(inside.length - SHOWN) })}</p>`}</nav>`;
}
