// Documents of the package to try the page with. They are added, read and deleted like anybody's own.
import { changed, html, notify, page, update, useLoaded } from "./lib.js";
import { call, may, request } from "./api.js";
import { add, queue } from "./adding.js";
import { Busy, Button } from "./ui.js";
import { sentence, t } from "./words.js";

const FOLDER = "ragstone-samples"; // Nobody's own documents are in a folder of this name.
const NAMES = ["annual-report-2024.pdf", "lantern-3-manual.md", "minutes-2025-04-09.txt", "travel-policy.html"];
const PATHS = NAMES.map((name) => `/${FOLDER}/${name}`);

// In the language of the documents, which answer them.
export const QUESTIONS = ["How long does a full battery charge last without sun?", "When did the council decide to launch Lantern 4?", "What was the revenue in 2024?"];

// Which sample documents a collection that is there has: their paths, or null as long as that is not known.
export function useSamples(collection) {
  const found = useLoaded(async () => (collection && may("delete") ? call("documents", { collection, named: PATHS }) : []), [collection, page.ingested]);
  return found.error ? [] : found.value?.map((file) => file.path) ?? null;
}

const given = (collection) => queue.files.filter((file) => PATHS.includes(file.path) && file.collection === collection);

export const areBeingAdded = (collection) => given(collection).some((file) => !["done", "failed", "skipped"].includes(file.state));

export async function addSamples(collection) {
  try {
    const files = await Promise.all(NAMES.map(async (name) => {
      const response = await request(`/web/samples/${name}`, { raw: true });
      return { file: new File([await response.blob()], name), path: name };
    }));
    queue.files = queue.files.filter((file) => !given(collection).includes(file));
    add(files, collection, { folder: FOLDER });
  } catch (error) { notify(sentence(error), "bad"); }
}

// Offered where a collection is empty, to who may add to it.
export function AddSamples({ collection }) {
  if (areBeingAdded(collection)) return html`<${Busy} label=${t("Adding the sample documents…")} />`;
  const failed = given(collection).find((file) => file.state === "failed");
  return html`<${Button} icon="documents" label=${t("Try it with sample documents")} onClick=${() => addSamples(collection)} />
    ${failed && html`<p class="bad" role="alert" dir="auto">${failed.reason}</p>`}`;
}

export function RemoveSamples({ collection, paths }) {
  if (!paths?.length || areBeingAdded(collection)) return null;
  const remove = async () => {
    try {
      await call("delete", { collection, paths });
      queue.files = queue.files.filter((file) => !given(collection).includes(file));
      notify(t("The sample documents were removed."));
    } catch (error) { notify(sentence(error), "bad"); }
    changed();
    update({ ingested: (page.ingested || 0) + 1 });
  };
  return html`<${Button} icon="trash" label=${t("Remove the sample documents")} onClick=${remove} />`;
}
