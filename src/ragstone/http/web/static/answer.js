// One question and its answer: what happens, what is said, what it stands on.
import { html, copy, go, notify, page, update, useMemo, useState } from "./lib.js";
import { call, isAdmin, may } from "./api.js";
import { Markdown } from "./formatted.js";
import { Pictures } from "./pictures.js";
import { Button, Icon } from "./ui.js";
import { duration, legible, percent, sentence, t, VERDICTS, when } from "./words.js";

const STAGES = {
  contextualize: "Resolving the follow-up",
  guard: "Checking blocked topics", classify: "Understanding the question",
  correct: "Checking the spelling", recall: "Checking the cache",
  route: "Choosing a search", rewrite: "Rephrasing the search", retrieve: "Searching", fuse: "Ranking",
  search_subqueries: "Searching each question",
  traverse: "Reading the tree of summaries",
  rerank: "Reranking the best passages", deduplicate: "Removing duplicates",
  expand: "Reading neighbouring passages", grade_passages: "Grading passages", rounds: "Searching again", tool_agent: "Calling tools",
  assemble: "Choosing passages",
  generate: "Answering", cite: "Citing", check: "Checking every sentence", score: "Measuring confidence",
  converse: "Replying without documents", persist: "Saving the conversation",
  add_related: "Adding related passages", ask_comments: "Counting comments", cut_short: "Stopping at the limit",
  multi_hop: "Following names to other passages", structured: "Writing the structured answer", tables: "Computing from tables",
  tell_unread: "Checking for unread files", build_prompt: "Preparing the sources",
  intent: "Recognising the kind of question", judge_answer: "Judging the answer", memory: "Reading the conversation",
  narrow: "Narrowing the search", pre_answer_gate: "Checking whether the passages suffice",
  reason: "Thinking it through", reranker: "Comparing passages closely",
  retrieval_gate: "Deciding whether to search", subject: "Finding the subject", sum_up: "Summing up",
  room: "Waiting for the earlier answer",
  check_quota: "Checking the quota", give_verified: "Looking for a verified answer", count_quota: "Counting what was used",
};

export function stageName(name) {
  return t(STAGES[name] ?? name);
}

// What a turn stands on, by number: {number, title, path, page, section, spans, text, score}.
export function sourcesOf(turn) {
  const cited = new Map();
  for (const citation of turn.answer?.citations || []) if (!cited.has(citation.number)) cited.set(citation.number, citation);
  if (!turn.passages.length) {
    return [...cited.values(), ...(turn.nearest || [])].map((source) => ({ ...source, cited: cited.has(source.number), spans: spansOf(source),
      text: source.snippet, collection: turn.collection }));
  }
  return turn.passages.map(({ number, text, hit }) => {
    const citation = cited.get(number);
    const { chunk } = hit;
    return {
      number, title: chunk.title, path: chunk.path, section: chunk.section, document_id: chunk.document_id, chunk_id: citation?.chunk_id || chunk.chunk_id,
      page: citation ? citation.page : chunk.page, cited: Boolean(citation), text: citation ? citation.snippet : text, score: hit.score,
      spans: spansOf(citation || chunk),
      collection: turn.collection, pictures: picturesOf(chunk, citation),
    };
  });
}

// What is marked of a source, in the order of the document: each sentence that cites it may stand on another part.
function spansOf({ start, end, spans }) {
  const marked = (spans?.length ? spans : [{ start, end }]).map((span) => ({ start: span.start, end: span.end })).sort((a, b) => a.start - b.start);
  return marked.filter((span, index) => !index || span.start !== marked[index - 1].start || span.end !== marked[index - 1].end);
}

// The ids of the pictures that a citation touches in its chunk: `layout` lists the chunk's blocks as
// [kind, start, length, level, label, places, pictures]. None of a passage that is not cited.
function picturesOf(chunk, cited) {
  if (!cited || !chunk.layout || ["question", "summary"].includes(chunk.kind)) return [];
  const spans = [cited, ...(cited.spans || [])];
  const touched = JSON.parse(chunk.layout).filter(([, start, length, , , , pictures]) => pictures && spans.some(
    (span) => chunk.start + start < span.end && span.start < chunk.start + start + length));
  return [...new Set(touched.flatMap((block) => block[6]))].slice(0, 8);
}

export function openEvidence(source, said) {
  update({ panel: { source, said } });
}

// One that is `fixed` is only read: it is somebody else's, or kept as it was.
export function Answer({ turn, last, onAsk, onEdit, fixed }) {
  const [checks, setChecks] = useState(false);
  const sources = sourcesOf(turn);
  const titles = useMemo(() => new Map(sources.map((source) => [source.number, source.title || source.path])),
    [turn.passages.length, turn.answer]);
  const running = turn.state === "running";
  const refused = turn.answer && ["refused", "blocked"].includes(turn.answer.finish);
  const next = turn.answer?.suggested?.length ? turn.answer.suggested : turn.suggested || [];
  const cite = (number) => openEvidence(sources.find((source) => source.number === number));
  const verdict = (index) => {
    const said = turn.verdicts[index];
    const source = said.citation && { ...said.citation, collection: turn.collection,
      spans: spansOf({ ...said.citation, spans: [] }), text: said.citation.snippet };
    openEvidence(source, said);
  };
  return html`<article class="turn">
    <div class="question" dir="auto"><h2>${turn.question}</h2>
      ${!running && !fixed && html`<${Button} icon="edit" quiet label=${t("Edit the question")} onClick=${() => onEdit(turn.question)} />`}</div>
    ${!fixed && html`<${Stages} turn=${turn} running=${running} />`}
    ${turn.notes.map((note) => html`<p class="note" dir="auto">${note}</p>`)}
    ${turn.thinking && html`<details class="thinking"><summary>${t("What the model thought")}</summary><p dir="auto">${turn.thinking}</p></details>`}
    ${refused ? html`<${Refusal} turn=${turn} sources=${sources} />` : html`<div aria-live="polite" aria-busy=${String(running)}>
      ${turn.text && html`<${Markdown} text=${turn.text} cited=${titles} verdicts=${checks ? turn.verdicts : null}
        onCite=${cite} onVerdict=${verdict} />`}</div>`}
    ${turn.waits && html`<p class="note" role="status"><span class="spinner"></span> ${t("The connection was lost. The answer goes on as soon as it is back.")}</p>`}
    ${turn.error && html`<div class="callout bad" role="alert"><${Icon} name="warn" /><div><p>${sentence(turn.error)}</p>
      ${!fixed && html`<${Button} icon="again" label=${t("Try again")} onClick=${() => onAsk(turn.question)} />`}</div></div>`}
    ${turn.state === "stopped" && html`<p class="note">${t("Stopped.")}</p>`}
    ${turn.answer && !refused && html`<${Standing} turn=${turn} checks=${checks} onChecks=${() => setChecks(!checks)} />`}
    ${turn.answer && !refused && html`<${Sources} sources=${sources} />`}
    ${!running && html`<${Actions} turn=${turn} sources=${sources} onAsk=${onAsk} fixed=${fixed} />`}
    ${last && next.length > 0 && html`<section class="suggested"><h3>${t("Ask next")}</h3>
      ${next.map((question) => html`<button type="button" class="suggestion" dir="auto" onClick=${() => onAsk(question)}>${question}</button>`)}</section>`}
  </article>`;
}

function Stages({ turn, running }) {
  const now = turn.stages.filter((stage) => !stage.traced).at(-1) || turn.stages.at(-1);
  const total = turn.stages.reduce((sum, stage) => sum + (stage.traced && !stage.traced.inside ? stage.traced.seconds : 0), 0);
  if (!turn.stages.length) return running ? html`<p class="busy"><span class="spinner"></span>${t("Sending…")}</p>` : null;
  const line = running ? html`<span class="spinner"></span><span role="status">${stageName(now.stage)}…</span>`
    : html`<${Icon} name="check" /><span>${t("{count} steps in {time}", { count: turn.stages.length, time: duration(total) })}</span>`;
  return html`<details class="stages"><summary>${line}</summary><ol>
    ${turn.stages.map((stage) => html`<li key=${stage.stage} class=${stage.traced?.status || "running"}>
      <span class="stage">${stageName(stage.stage)}</span>
      <span class="took">${stage.traced ? duration(stage.traced.seconds) : "…"}</span>
      ${stage.traced && html`<span class="decided" dir="auto">${stage.traced.decision}${stage.traced.reason ? ` – ${stage.traced.reason}` : ""}</span>`}
    </li>`)}</ol></details>`;
}

// A refusal is no answer: it looks otherwise, and shows what came nearest.
function Refusal({ turn, sources }) {
  return html`<section class="refusal" aria-live="polite">
    <h3><${Icon} name="warn" /><span dir="auto">${turn.text}</span></h3>
    ${sources.length > 0 && html`<h4>${t("Closest passages")}</h4><ol class="nearest">
      ${sources.slice(0, 3).map((source) => html`<li key=${source.number}><button type="button" class="passage" onClick=${() => openEvidence(source)}>
        <strong dir="auto">${legible(source.title || source.path)}</strong><${Where} source=${source} />
        <span class="snippet" dir="auto">${source.text.slice(0, 240)}</span></button></li>`)}</ol>`}
  </section>`;
}

function Where({ source }) {
  const parts = [source.page && t("Page {page}", { page: source.page }), source.section?.at(-1) !== source.title && source.section?.at(-1)];
  const shown = parts.filter(Boolean).join(" · ");
  return shown ? html`<span class="where" dir="auto"> ${shown}</span>` : null;
}

// Two things that are said apart: that the documents say it, and that it is what was asked.
function Standing({ turn, checks, onChecks }) {
  const { answer } = turn;
  const counts = new Map();
  for (const verdict of turn.verdicts) counts.set(verdict.label, (counts.get(verdict.label) || 0) + 1);
  return html`<div class="standing">
    ${answer.verified && html`<span class="badge high" title=${when(answer.verified.at)}><${Icon} name="check" /><span dir="auto">${answer.verified.by ? t("Verified by {name}", { name: answer.verified.by }) : t("Verified")}</span></span>`}
    ${answer.supported && html`<${Statement} statement=${answer.supported} yes=${t("The documents say this")} no=${t("The documents do not say all of this")} />`}
    ${answer.answers && html`<${Statement} statement=${answer.answers} yes=${t("It answers the question")} no=${t("It may not be what was asked")} />`}
    ${answer.confidence !== null && answer.confidence !== undefined && html`<span class=${`badge ${level(answer.confidence)}`}>
      ${t("Confidence {share}", { share: percent(answer.confidence) })}</span>`}
    ${turn.cached && html`<span class="badge">${turn.cached === "answer" ? t("From the cache") : t("Search from the cache")}</span>`}
    ${turn.verdicts.length > 0 && html`<button type="button" class="button small" aria-pressed=${String(checks)} onClick=${onChecks}>
      ${checks ? t("Hide the check") : t("Check every sentence")}</button>`}
    ${checks && html`<ul class="legend">${[...counts].map(([label, count]) => html`<li class=${`verdict ${label}`}>${t(VERDICTS[label])}: ${count}</li>`)}</ul>`}
  </div>`;
}

function level(confidence) {
  return confidence >= 0.85 ? "high" : confidence >= 0.5 ? "medium" : "low";
}

function Statement({ statement, yes, no }) {
  return html`<span class=${`badge ${statement.holds ? level(statement.confidence) : "low"}`}>
    <${Icon} name=${statement.holds ? "check" : "warn"} />${statement.holds ? yes : no} · ${percent(statement.confidence)}</span>`;
}

function Sources({ sources }) {
  const cited = sources.filter((source) => source.cited), rest = sources.filter((source) => !source.cited);
  if (!sources.length) return null;
  const list = (some) => html`<ol class="sources">${some.map((source) => html`<li key=${source.number}>
    <button type="button" class="passage" onClick=${() => openEvidence(source)}>
      <span class="cite" aria-hidden="true">${source.number}</span>
      <span><strong dir="auto">${legible(source.title || source.path)}</strong><${Where} source=${source} />
      <span class="snippet" dir="auto">${source.text.slice(0, 200)}</span></span></button>
    <${Pictures} collection=${source.collection} document=${source.document_id} ids=${source.pictures} /></li>`)}</ol>`;
  return html`<section class="evidence-list"><h3>${t("Sources")}</h3>${list(cited)}
    ${rest.length > 0 && html`<details><summary>${t("{count} more passages were read", { count: rest.length })}</summary>${list(rest)}</details>`}
  </section>`;
}

// The answer as plain text with its sources below it.
export function withSources(turn) {
  const lines = sourcesOf(turn).filter((source) => source.cited).map((source) =>
    `[${source.number}] ${[source.title, source.path, source.page && t("Page {page}", { page: source.page })].filter(Boolean).join(", ")}`);
  return `${turn.question}\n\n${turn.text}\n\n${lines.join("\n")}\n`;
}

// This answer alone, with its sources; what a page says to print is in the style sheet.
function print(event) {
  const turn = event.currentTarget.closest(".turn");
  turn.classList.add("printing");
  addEventListener("afterprint", () => turn.classList.remove("printing"), { once: true });
  window.print();
}

function Actions({ turn, sources, onAsk, fixed }) {
  const copied = async (text) => { await copy(text); notify(t("Copied")); };
  return html`<div class="actions">
    ${turn.text && html`<${Button} icon="copy" label=${t("Copy")} onClick=${() => copied(turn.text)} />
    <${Button} icon="documents" quiet label=${t("Copy with sources")} onClick=${() => copied(withSources(turn))} />`}
    ${turn.text && html`<${Button} icon="print" quiet label=${t("Print")} onClick=${print} />`}
    ${!fixed && html`<${MoreActions} turn=${turn} sources=${sources} onAsk=${onAsk} />`}</div>`;
}

// What only who asked can do.
function MoreActions({ turn, sources, onAsk }) {
  const keep = async () => {
    try {
      await call("notes.put", { room: turn.room, answer: turn.answerId });
      turn.noted = true;
      notify(t("Saved under Notes."));
    } catch (error) { notify(sentence(error), "bad"); }
  };
  return html`${turn.cached ? html`<${Button} icon="again" quiet label=${t("Ask afresh")} onClick=${() => onAsk(turn.question, { cache: false })} />`
      : html`<${Button} icon="again" quiet label=${t("Ask again")} onClick=${() => onAsk(turn.question, { cache: false })} />`}
    ${turn.trace.length > 0 && html`<${Button} icon="why" label=${t("Why this answer?")} onClick=${() => go("why", turn.id)} />`}
    ${turn.answer && turn.room && may("notes.put") && html`<${Button} icon="notes" label=${t("Keep as a note")} disabled=${turn.noted} onClick=${keep} />`}
    ${turn.answer?.finish === "stop" && sources.some((source) => source.cited) && isAdmin() && may("verified.put") && html`<${Button} icon="check" quiet label=${t("Verify")} onClick=${async () => (await import("./verified.js")).verifyAnswer(turn, sources)} />`}
    ${turn.answer && may("feedback.give") && html`<${Thumbs} turn=${turn} />`}`;
}

function Thumbs({ turn }) {
  const [given, setGiven] = useState(turn.thumb || "");
  const [comment, setComment] = useState(null);
  const [failed, setFailed] = useState("");
  const give = async (thumb, text) => {
    try {
      await call("feedback.give", { answer_id: turn.answerId, thumb, comment: text, question: turn.question,
        answer: turn.text, collection: turn.collection });
      turn.thumb = thumb;
      setGiven(thumb);
      setFailed("");
    } catch (error) { setFailed(sentence(error)); }
  };
  const thumb = (name) => { setComment(""); give(name, ""); };
  return html`<span class="thumbs">
    <${Button} icon="up" quiet label=${t("Good answer")} aria-pressed=${String(given === "up")} onClick=${() => thumb("up")} />
    <${Button} icon="down" quiet label=${t("Bad answer")} aria-pressed=${String(given === "down")} onClick=${() => thumb("down")} />
    ${comment !== null && given && html`<form class="row" onSubmit=${(event) => { event.preventDefault(); give(given, comment); setComment(null); }}>
      <label><span class="unseen">${t("Comment")}</span><input value=${comment} maxlength="2000" placeholder=${t("What was good or wrong?")}
        onInput=${(event) => setComment(event.target.value)} /></label>
      <button class="button small">${t("Send")}</button></form>`}
    ${given && comment === null && html`<span role="status">${t("Saved. Thank you.")}</span>`}
    ${failed && html`<span class="bad" role="alert">${failed}</span>`}</span>`;
}
