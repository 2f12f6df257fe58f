// Answers that are kept, each with its evidence and what its user writes about it.
import { html, notify, page, save, update, useEffect, useLoaded, useState } from "./lib.js";
import { call } from "./api.js";
import { Answer, withSources } from "./answer.js";
import { Evidence, stored } from "./ask.js";
import { ask as askUser, Busy, Button, Failure, Icon } from "./ui.js";
import { sentence, t, when } from "./words.js";

const PART = 50; // Notes that are read at a time.

export default function NotesPage() {
  const [wanted, setWanted] = useState("");
  const [limit, setLimit] = useState(PART);
  const found = useLoaded(async () => (await call("notes.list_all", { limit })).map((note) => ({ ...note, turn: stored(note.turn) })), [limit, page.session]);
  useEffect(() => { update({ panel: null }); }, []);
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const some = (found.value || []).filter(({ comment, turn }) => words.every((word) => `${comment} ${turn.question} ${turn.text}`.toLowerCase().includes(word)));
  const download = () => save("notes.md", some.map(({ comment, turn }) => `## ${withSources(turn)}${comment ? `\n> ${comment.replaceAll("\n", "\n> ")}\n` : ""}`).join("\n"), "text/markdown");
  return html`<div class="ask"><div class="talk"><div class="row spread"><h1>${t("Notes")}</h1>
      ${some.length > 0 && html`<${Button} icon="save" label=${t("Export as Markdown")} onClick=${download} />`}</div>
    ${found.error && html`<${Failure} error=${found.error} again=${found.reload} />`}
    ${!found.value && !found.error && html`<${Busy} />`}
    ${found.value?.length === 0 && html`<p class="dim">${t("There are no notes yet. “Keep as a note” below an answer puts it here, with its evidence.")}</p>`}
    ${found.value?.length > 1 && html`<label class="search"><${Icon} name="search" /><span class="unseen">${t("Search the notes")}</span>
      <input type="search" dir="auto" value=${wanted} placeholder=${t("Search the notes")} onInput=${(event) => setWanted(event.target.value)} /></label>`}
    ${some.map((note) => html`<${OneNote} key=${note.id} note=${note} reload=${found.reload} />`)}
    ${found.value?.length === limit && limit < 500 && html`<${Button} label=${t("Show more")} onClick=${() => setLimit(Math.min(500, limit + PART))} />`}
    </div></div>${page.panel && html`<${Evidence} ...${page.panel} />`}`;
}

function OneNote({ note, reload }) {
  const [comment, setComment] = useState(note.comment);
  const [kept, setKept] = useState(note.comment);
  const act = async (work) => { try { await work(); } catch (error) { notify(sentence(error), "bad"); } };
  const write = (event) => {
    event.preventDefault();
    return act(async () => { await call("notes.change", { id: note.id, comment }); setKept(comment); notify(t("Saved")); });
  };
  const remove = async () => {
    if (!(await askUser({ title: t("Remove this note?"), text: note.turn.question, confirm: t("Remove"), danger: true }))) return;
    await act(async () => { await call("notes.remove", { id: note.id }); reload(); });
  };
  return html`<section class="note-kept"><${Answer} turn=${note.turn} fixed />
    <form class="row" onSubmit=${write}><label class="field grow"><span>${t("What you think of it")}</span><textarea rows="2" dir="auto" maxlength="5000" value=${comment} onInput=${(event) => setComment(event.target.value)}></textarea></label>
      <button class="button" disabled=${comment === kept}>${t("Save")}</button><span class="dim">${when(note.at)}</span><${Button} icon="trash" quiet label=${t("Remove this note")} onClick=${remove} /></form></section>`;
}
