// Verified answers: those there are, writing one, and the questions that want one.
import { html, go, notify, page, useEffect, useLoaded, useState } from "./lib.js";
import { call, principal } from "./api.js";
import { readerNames } from "./readers.js";
import { ask as askUser, Busy, Button, Choice, Failure, Icon } from "./ui.js";
import { number, sentence, t, when } from "./words.js";

const STATES = { current: "Given first", expired: "Expired", changed: "A source has changed", gone: "A source is gone" };
const EMPTY = { id: "", text: "", wordings: "", sources: "", readers: "", owner: "", until: "" };
const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

// What is to be verified next, kept while the page changes.
let draft = null;

// Go on from an answer: its text, with the places of the documents that it cites.
export function verifyAnswer(turn, sources) {
  const cited = sources.filter((source) => source.cited).sort((a, b) => a.number - b.number);
  const numbers = new Map(cited.map((source, index) => [source.number, index + 1]));
  draft = { ...EMPTY, wordings: turn.question, collection: turn.collection,
    text: turn.text.replace(/\[(\d{1,3})\]/g, (whole, cited) => (numbers.has(Number(cited)) ? `[${numbers.get(Number(cited))}]` : "")),
    sources: cited.map((source) => `${source.path}#${source.spans[0].start}-${source.spans[0].end}`).join("\n") };
  go("admin", "verified");
}

function place(line) {
  const span = /^(.+)#(\d+)-(\d+)$/.exec(line);
  return span ? { document: span[1], start: Number(span[2]), end: Number(span[3]) } : { document: line };
}

// Midnight of this browser's clock, and back.
const time = (day) => (day ? new Date(`${day}T00:00`).getTime() / 1000 : null);
const day = (seconds) => (seconds ? new Date(seconds * 1000).toLocaleDateString("sv") : "");

function edited(answer) {
  return { id: answer.id, text: answer.text, wordings: answer.wordings.join("\n"), readers: answer.readers.filter((name) => name !== "*").join(", "), owner: answer.owner,
    until: day(answer.expires_at), sources: answer.sources.map((source) => `${source.path}#${source.start}-${source.end}`).join("\n") };
}

export function VerifiedView() {
  const collections = useLoaded(() => call("collections"), []);
  const [chosen, setChosen] = useState(draft?.collection || page.route[2] || "");
  const names = (collections.value || []).map((collection) => collection.collection.name);
  const collection = names.includes(chosen) ? chosen : names[0];
  if (collections.error) return html`<${Failure} error=${collections.error} again=${collections.reload} />`;
  if (!collections.value) return html`<${Busy} />`;
  if (!names.length) return html`<p class="dim">${t("There are no collections.")}</p>`;
  return html`<p>${t("A verified answer is given first to a question that asks the same, to whoever may read all its sources, while none of them changes.")}</p>
    ${names.length > 1 && html`<${Choice} label=${t("Collection")} value=${collection} options=${names.map((name) => [name, name])} onChange=${setChosen} />`}
    <${OfCollection} key=${collection} collection=${collection} />`;
}

function OfCollection({ collection }) {
  const found = useLoaded(() => call("verified.list_all", { collection }), []);
  const review = useLoaded(() => call("verified.review", { collection }), []);
  const [form, setForm] = useState(draft || EMPTY);
  useEffect(() => { draft = null; }, []);
  const changed = () => { found.reload(); review.reload(); };
  const write = (given) => { setForm({ ...EMPTY, ...given }); document.getElementById("verify").scrollIntoView({ block: "start" }); };
  const remove = async (answer) => {
    const sure = await askUser({ title: t("Remove this verified answer?"), text: answer.wordings[0], confirm: t("Remove"), danger: true });
    if (!sure) return;
    try { await call("verified.remove", { collection, id: answer.id }); changed(); } catch (error) { notify(sentence(error), "bad"); }
  };
  if (found.error) return html`<${Failure} error=${found.error} again=${found.reload} />`;
  if (!found.value) return html`<${Busy} />`;
  return html`<${Form} form=${form} set=${setForm} collection=${collection} saved=${changed} />
    <h2>${t("Verified answers")}</h2>${!found.value.length && html`<p class="dim">${t("There are no verified answers.")}</p>`}
    <ul class="jobs">${found.value.map((answer) => html`<li key=${answer.id} class="card"><div class="row spread"><span class=${`badge ${answer.state === "current" ? "high" : "low"}`}><${Icon} name=${answer.state === "current" ? "check" : "warn"} />${t(STATES[answer.state])}</span>
      <span class="row"><${Button} icon="edit" kind="small" label=${t("Edit")} onClick=${() => write(edited(answer))} /><${Button} icon="trash" kind="small" label=${t("Remove")} onClick=${() => remove(answer)} /></span></div>
      <p dir="auto"><strong>${answer.wordings.join(" · ")}</strong></p><p dir="auto">${answer.text}</p>
      <p class="dim" dir="auto">${[answer.owner, when(answer.changed_at), answer.expires_at && t("Until {time}", { time: when(answer.expires_at) }), answer.sources.map((source) => source.path).join(", "), answer.readers.includes("*") ? "" : answer.readers.join(", ")].filter(Boolean).join(" · ")}</p></li>`)}</ul>
    <h2>${t("Questions without a good answer")}</h2><p class="dim">${t("They were refused, or their answers were disliked; similar ones are grouped. Refused questions are known where traces keep questions (STATISTICS__QUESTIONS).")}</p>
    ${review.error && html`<${Failure} error=${review.error} again=${review.reload} />`}${review.busy && !review.value && html`<${Busy} />`}
    ${review.value && !review.value.length && html`<p class="dim">${t("There are none.")}</p>`}
    <ul class="jobs">${(review.value || []).map((group) => html`<li key=${group.question} class="card"><div class="row spread"><span><strong dir="auto">${group.question}</strong> <span class="badge">${number(group.questions.length)} ×</span></span>
      <${Button} icon="edit" kind="small" label=${t("Write an answer")} onClick=${() => write({ wordings: [...new Set(group.questions.map((question) => question.question))].join("\n") })} /></div>
      <ul class="plain">${group.questions.slice(0, 5).map((question) => html`<li><span class="dim">${question.reason === "refused" ? t("Refused") : t("Bad answer")} · ${when(question.at)}</span> <span dir="auto">${question.question}</span>${question.comment && html` <em dir="auto">${question.comment}</em>`}</li>`)}</ul></li>`)}</ul>`;
}

function Form({ form, set, collection, saved }) {
  const [failed, setFailed] = useState(null);
  const put = (name) => (event) => set({ ...form, [name]: event.target.value });
  const sent = async (event) => {
    event.preventDefault();
    setFailed(null);
    try {
      await call("verified.put", { collection, id: form.id, text: form.text, wordings: lines(form.wordings), sources: lines(form.sources).map(place),
        readers: readerNames(form.readers), owner: form.owner, expires_at: time(form.until) });
      set(EMPTY);
      notify(t("Saved. It is given from the next question on."));
      saved();
    } catch (error) { setFailed(error); }
  };
  const area = (name, label, rows) => html`<label class="field"><span>${label}</span><textarea required rows=${rows} dir="auto" value=${form[name]} onInput=${put(name)}></textarea></label>`;
  const field = (name, label, more) => html`<label class="field"><span>${label}</span><input dir="auto" value=${form[name]} onInput=${put(name)} ...${more} /></label>`;
  return html`<form class="card" id="verify" onSubmit=${sent}><h2>${form.id ? t("Change a verified answer") : t("Verify an answer")}</h2>
    ${area("wordings", t("Questions that it answers, one per line"), 3)}${area("text", t("Answer; [1] cites the first document"), 5)}
    ${area("sources", t("Documents that support it, one per line"), 2)}
    <div class="options">${field("readers", t("Only for these groups and people, such as {example}", { example: "group:hr, user:ada" }))}
      ${field("owner", t("Who is responsible for it"), { placeholder: principal().user })}${field("until", t("Expires on"), { type: "date" })}</div>
    ${failed && html`<p class="bad" role="alert">${sentence(failed)}</p>`}
    <p class="row"><button class="button primary">${t("Save")}</button>${form !== EMPTY && html`<${Button} label=${t("Cancel")} onClick=${() => { set(EMPTY); setFailed(null); }} />`}</p></form>`;
}
