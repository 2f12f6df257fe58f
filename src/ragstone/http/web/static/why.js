// Why an answer came out as it did: every step, every candidate, what was said to the model; and the
// same question again with other settings, side by side.
import { html, go, page, useLoaded, useState } from "./lib.js";
import { call, isAdmin, principal, request } from "./api.js";
import { stageName } from "./answer.js";
import { Markdown } from "./formatted.js";
import { follow, levelNames, newTurn, talk } from "./ask.js";
import { why as reasonOf } from "./evaluate.js";
import { Busy, Button, Choice, Failure, Icon, Tabs } from "./ui.js";
import { duration, number, percent, t, VERDICTS, when } from "./words.js";

export default function WhyPage() {
  const [, id, run, setting, number] = page.route;
  if (id === "run" && number) return html`<${OneOutcome} key=${page.route.join("/")} run=${run} setting=${Number(setting)} number=${Number(number)} />`;
  const turn = talk.turns.find((turn) => turn.id === id || turn.answerId === id);
  if (turn) return html`<${OneTurn} key=${id} turn=${turn} />`;
  if (id) return html`<${OneTrace} key=${id} id=${id} />`;
  return html`<${Recent} />`;
}

const OUTCOMES = { stop: "Answered", length: "Cut off", refused: "No answer found", blocked: "Blocked", cancelled: "Stopped", error: "Failed" };

function Recent() {
  const traces = useLoaded(() => (isAdmin() ? request("/api/v1/traces?limit=100") : Promise.resolve({ traces: [] })), [page.session]);
  const own = talk.turns.filter((turn) => turn.trace.length);
  return html`<div class="sheet"><h1>${t("Why")}</h1>
    <p>${t("For every answer: what was done and how long it took, which passages were found and left out, and what the chat model was told.")}</p>
    ${own.length > 0 && html`<h2>${t("In this conversation")}</h2><ul class="plain">${own.map((turn) => html`<li key=${turn.id}>
      <a dir="auto" href=${`#/why/${encodeURIComponent(turn.id)}`}>${turn.question}</a></li>`)}</ul>`}
    ${traces.error && html`<${Failure} error=${traces.error} again=${traces.reload} />`}${traces.busy && !traces.value && html`<${Busy} />`}
    ${traces.value?.traces.length > 0 && html`<h2>${t("Questions of everybody, the newest first")}</h2>
      <div class="scroll" tabindex="0"><table class="list"><thead><tr>${[t("When"), t("Who"), t("Question"), t("Outcome"), t("Time"), t("Tokens")].map((heading) => html`<th scope="col">${heading}</th>`)}</tr></thead>
      <tbody>${traces.value.traces.map((trace) => html`<tr key=${trace.id}><td><a href=${`#/why/${encodeURIComponent(trace.id)}`}>${when(trace.at)}</a></td><td dir="auto">${trace.user}</td>
        <td dir="auto">${trace.question || html`<span class="dim">${t("not saved")}</span>`}</td><td>${t(OUTCOMES[trace.finish] ?? trace.finish)}</td><td class="figure">${duration(trace.seconds)}</td>
        <td class="figure">${number(trace.prompt_tokens + trace.completion_tokens)}</td></tr>`)}</tbody></table></div>`}
    ${!own.length && !traces.value?.traces.length && !traces.busy && html`<p class="dim">${t("No questions yet.")} <a href="#/ask">${t("Ask a question")}</a></p>`}
  </div>`;
}

function OneTrace({ id }) {
  const found = useLoaded(() => request(`/api/v1/traces/${encodeURIComponent(id)}`), [id]);
  if (found.error) return html`<div class="sheet"><${Failure} error=${found.error} again=${() => go("why")} /></div>`;
  if (!found.value) return html`<div class="sheet"><${Busy} /></div>`;
  const trace = found.value;
  return html`<div class="sheet"><h1 dir="auto">${trace.question || t("A question of {time}", { time: when(trace.at) })}</h1>
    <${Figures} rows=${[[t("Who"), trace.user], [t("Collection"), trace.collection], [t("Level"), trace.level], [t("Search"), trace.strategy], [t("Model"), trace.model],
      [t("Outcome"), t(OUTCOMES[trace.finish] ?? trace.finish)], [t("Tokens"), number(trace.prompt_tokens + trace.completion_tokens)], [t("Cost"), trace.cost === null ? null : `$${trace.cost.toFixed(4)}`]]} />
    <${Timeline} trace=${trace.stages} /></div>`;
}

function OneTurn({ turn }) {
  return html`<div class="sheet"><p><a href=${talk.room ? `#/ask/${encodeURIComponent(talk.room)}` : "#/ask"}>${t("Back to the answer")}</a></p>
    <h1 dir="auto">${turn.question}</h1><${Explanation} turn=${turn} /></div>`;
}

// What came of a question of an evaluation, as it was then; and the same question now, with all that
// is known of it.
function OneOutcome({ run: id, setting: place, number: at }) {
  const run = useLoaded(() => call("evaluation.run", { id }), [id]);
  const found = useLoaded(async () => (await call("evaluation.outcomes", { id, setting: place, limit: 1, offset: at })).find((outcome) => outcome.number === at), [id, place, at]);
  const [now, setNow] = useState(null);
  const [, redraw] = useState(0);
  const error = run.error || found.error;
  if (error) return html`<div class="sheet"><${Failure} error=${error} again=${() => go("evaluate")} /></div>`;
  if (!run.value || found.busy) return html`<div class="sheet"><${Busy} /></div>`;
  const outcome = found.value, setting = run.value.settings[place];
  if (!outcome) return html`<div class="sheet"><p>${t("This answer does not exist, or you may no longer read its sources.")}</p></div>`;
  const { name, wanted, ...options } = setting;
  const askNow = async () => {
    const second = newTurn(outcome.question.question, run.value.collection);
    setNow(second);
    await follow(second, { ...options, wanted, question: second.question, collection: second.collection, principal: principal(), cache: false, keeps: false, id: second.id }, undefined);
    redraw((count) => count + 1);
  };
  const expected = outcome.question;
  const rows = [[t("Setting"), name], [t("Expected"), expected.answerable ? null : t("The documents do not contain the answer")], [t("Accepted answers"), expected.answers.join(" | ")], [t("Expected documents"), expected.sources.join(" | ")],
    [t("Confidence"), outcome.confidence === null ? null : percent(outcome.confidence)], [t("Claims that the documents support"), outcome.supported === null ? null : percent(outcome.supported)], [t("Search"), outcome.strategy], [t("Searched as"), outcome.queries.join(" · ")],
    [t("Time"), duration(outcome.seconds)], [t("Model"), outcome.model], [t("Tokens"), outcome.tokens ? number(outcome.tokens) : t("none")], [t("Cost"), outcome.cost === null ? null : `$${outcome.cost.toFixed(4)}`]];
  return html`<div class="sheet"><p><a href=${`#/evaluate/run/${encodeURIComponent(id)}`} dir="auto">${t("Back to the evaluation")}</a></p>
    <h1 dir="auto">${expected.question}</h1>
    <p><span class=${`badge ${outcome.right === null ? "" : outcome.right ? "high" : "low"}`}>${outcome.right === null ? t("not judged") : outcome.right ? t("right") : t("wrong")}</span> ${outcome.error || reasonOf(outcome.reason)}</p>
    <${Figures} rows=${rows} />
    ${expected.liked && html`<p><strong>${t("Good answer")}:</strong> <span dir="auto">${expected.liked}</span></p>`}
    ${expected.disliked && html`<p><strong>${t("Bad answer")}:</strong> <span dir="auto">${expected.disliked}</span></p>`}
    ${expected.comment && html`<p class="dim" dir="auto">${expected.comment}</p>`}
    <section class="card"><h2>${t("Answer")}</h2><${Markdown} text=${outcome.text || "–"} />
      ${outcome.verdicts.length > 0 && html`<ul class="legend">${outcome.verdicts.map((label, index) => html`<li key=${index} class=${`verdict ${label}`}>${number(index + 1)}: ${t(VERDICTS[label])}</li>`)}</ul>`}</section>
    <h2>${t("Passages, as they were found")}</h2>
    <ol class="sources">${outcome.found.map((passage, index) => html`<li key=${index}><a class="passage" href=${`#/documents/${encodeURIComponent(run.value.collection)}/${encodeURIComponent(passage.document_id)}/${passage.start}-${passage.end}${passage.page ? `/page=${passage.page}` : ""}`}>
      <span class="cite">${number(index + 1)}</span><span><strong dir="auto">${passage.title || passage.path}</strong> <span class="where" dir="auto">${[passage.path, passage.page && t("Page {page}", { page: passage.page }), number(passage.score, 2)].filter(Boolean).join(" · ")}</span>
      ${passage.cited && html` <span class="badge high"><${Icon} name="check" />${t("Cited")}</span>`}</span></a></li>`)}</ol>
    ${!outcome.found.length && html`<p class="dim">${t("Nothing was found.")}</p>`}
    <h2>${t("Steps")}</h2><${Timeline} trace=${outcome.trace} />
    <h2>${t("And now?")}</h2><p>${t("Ask the same with the same setting, to see every candidate and the prompt, or to try other settings. Nothing of it is kept.")}</p>
    <p><${Button} kind="primary" icon="again" label=${t("Ask it now")} disabled=${now?.state === "running"} onClick=${askNow} /></p>
    ${now?.state === "running" && html`<${Busy} label=${t("Asking…")} />`}
    ${now?.error && html`<${Failure} error=${now.error} />`}
    ${now?.full && html`<section class="card"><h2>${t("Answer")}</h2><${Markdown} text=${now.text} /></section><${Explanation} turn=${now} />`}</div>`;
}

function Explanation({ turn }) {
  const [view, setView] = useState("steps");
  const full = turn.full;
  const tabs = [["steps", t("Steps")], ["found", t("Passages")], ["told", t("Prompt")], ["again", t("Try again with…")]];
  return html`${full && html`<${Figures} rows=${figures(turn)} />`}
    <${Tabs} label=${t("Parts of the explanation")} current=${view} onChange=${setView} tabs=${full ? tabs : tabs.filter(([name]) => name === "steps" || name === "again")} />
    ${view === "steps" && html`<${Timeline} trace=${turn.trace} />`}
    ${view === "found" && html`<${Candidates} turn=${turn} />`}
    ${view === "told" && html`<${Prompt} turn=${turn} />`}
    ${view === "again" && html`<${Again} turn=${turn} />`}
    ${!full && html`<p class="dim">${t("The passages and the prompt are known for answers of this visit. Ask the question again to see them.")}</p>`}`;
}

function figures({ full, answer }) {
  const { usage, plan, intent } = full;
  return [[t("Kind of question"), intent?.name], [t("Searched as"), full.queries.length > 1 || full.queries[0] !== full.ask.question ? full.queries.join(" · ") : null],
    [t("Search"), plan.strategy], [t("Model"), answer?.model], [t("Time"), duration(seconds(full.trace))],
    [t("Tokens"), usage.calls ? tokens(usage) : t("none")],
    [t("Cost"), usage.cost === null ? null : cost(usage)], [t("Confidence"), answer?.confidence == null ? null : percent(answer.confidence)],
    [t("Enough in the passages"), answer?.sufficiency ? percent(answer.sufficiency.coverage_score) : null]];
}

function tokens({ prompt_tokens, completion_tokens, calls }) {
  return t("{prompt} in, {completion} out, {calls} calls", { prompt: number(prompt_tokens), completion: number(completion_tokens), calls });
}

function cost(usage) {
  return `$${usage.cost.toFixed(4)}`;
}

function seconds(trace) {
  return trace.reduce((sum, step) => sum + (step.inside ? 0 : step.seconds), 0);
}

function Figures({ rows }) {
  return html`<dl class="figures">${rows.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd dir="auto">${value}</dd></div>`)}</dl>`;
}

// The steps in order: where each bar begins is when the step did.
function Timeline({ trace }) {
  const total = seconds(trace) || 1;
  let begun = 0;
  return html`<ol class="timeline">${trace.map((step, index) => {
    const start = begun;
    if (!step.inside) begun += step.seconds;
    return html`<li key=${index} class=${`${step.status} ${step.inside ? "inner" : ""}`}><span class="stage">${stageName(step.stage)}</span><span class="took">${duration(step.seconds)}</span>
      <svg class="lane" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect x=${(start / total) * 100} y="1" height="4" width=${Math.max(0.4, (step.seconds / total) * 100)} /></svg>
      <span class="decided" dir="auto">${step.status === "failed" || step.status === "timeout" ? html`<strong class="bad">${step.status}</strong> ` : ""}${[step.calls && `LLM: ${tokens(step)}`, step.calls && step.cost !== null && cost(step), step.decision, step.reason].filter(Boolean).join(" – ")}</span></li>`;
  })}</ol>`;
}

// What each search found at which place, and what became of it.
export function candidates(full) {
  const rows = new Map();
  const row = (id) => {
    if (!rows.has(id)) rows.set(id, { id, chunk: full.chunks[id] || null, places: new Map() });
    return rows.get(id);
  };
  full.lists.forEach((list, index) => list.found.forEach((hit, place) => row(hit.chunk_id).places.set(index, { place: place + 1, score: hit.score })));
  full.hits.forEach((hit, place) => Object.assign(row(hit.chunk.chunk_id), { chunk: hit.chunk, hit, rank: place + 1 }));
  for (const passage of full.passages) Object.assign(row(passage.hit.chunk.chunk_id), { chunk: passage.hit.chunk, number: passage.number, hit: passage.hit });
  for (const citation of full.answer?.citations || []) if (rows.has(citation.chunk_id)) rows.get(citation.chunk_id).cited = true;
  return [...rows.values()].sort((a, b) => (a.rank ?? 1e6) - (b.rank ?? 1e6) || (best(a) - best(b)));
}

function best(row) {
  return Math.min(...[...row.places.values()].map((found) => found.place), 1e6);
}

const LISTS = { dense: "By meaning", bm25: "By words", feedback: "By meaning, refined", order: "In order" };

function Candidates({ turn }) {
  const [all, setAll] = useState(false);
  const rows = candidates(turn.full);
  if (!rows.length) return html`<p class="dim">${t("Nothing was searched for this answer.")}</p>`;
  const figure = (value, digits = 2) => (value === null || value === undefined ? "" : number(value, digits));
  return html`<p>${t("Each row is a passage. The left columns say at which place a search found it and with which score; the right ones what became of it.")}</p>
    <div class="scroll" tabindex="0"><table class="list"><thead><tr><th scope="col">${t("Passage")}</th>
      ${turn.full.lists.map((list) => html`<th scope="col" title=${list.query}>${t(LISTS[list.source])}</th>`)}
      ${[t("Reranked"), t("Similarity"), t("Final score"), t("Place"), t("Given as"), t("Cited")].map((heading) => html`<th scope="col">${heading}</th>`)}</tr></thead>
    <tbody>${rows.slice(0, all ? rows.length : 25).map((row) => html`<tr key=${row.id} class=${row.cited ? "touched" : ""}>
      <td class="wide">${row.chunk ? html`<details><summary dir="auto">${row.chunk.title || row.chunk.path}${row.chunk.page ? `, ${t("Page {page}", { page: row.chunk.page })}` : ""}<span class="path">${row.chunk.section.slice(-1)}</span></summary><p dir="auto" class="text rows">${row.chunk.text}</p></details>` : html`<span class="dim">${t("not read")}</span>`}</td>
      ${turn.full.lists.map((list, index) => { const at = row.places.get(index); return html`<td class="figure">${at ? html`${at.place}. <span class="dim">${figure(at.score)}</span>` : ""}</td>`; })}
      <td class="figure">${figure(row.hit?.rerank)}</td><td class="figure">${figure(row.hit?.similarity)}</td><td class="figure">${figure(row.hit?.score)}</td>
      <td class="figure">${row.rank ?? html`<span class="dim">${t("left out")}</span>`}</td><td class="figure">${row.number ? `[${row.number}]` : ""}</td><td>${row.cited ? html`<${Icon} name="check" /><span class="unseen">${t("Cited")}</span>` : ""}</td></tr>`)}</tbody></table></div>
    ${!all && rows.length > 25 && html`<${Button} label=${t("Show all {count}", { count: rows.length })} onClick=${() => setAll(true)} />`}`;
}

function Prompt({ turn }) {
  const { instructions, passages, ask } = turn.full;
  return html`${turn.answer?.model === "extractive" && html`<p>${t("No chat model was asked: the answer is made of sentences of the passages. A chat model would have been told this.")}</p>`}
    <h2>${t("Instructions")}</h2><pre tabindex="0" dir="auto" class="prompt">${instructions.text || t("none")}</pre>
    ${instructions.notes && html`<h2>${t("Notes")}</h2><pre tabindex="0" dir="auto" class="prompt">${instructions.notes}</pre>`}
    <h2>${t("Sources")}</h2><ol class="sources">${passages.map((passage) => html`<li key=${passage.number} class="card"><strong dir="auto">[${passage.number}] ${passage.hit.chunk.title || passage.hit.chunk.path}</strong><p class="text rows" dir="auto">${passage.text}</p></li>`)}</ol>
    <h2>${t("Question")}</h2><pre tabindex="0" dir="auto" class="prompt">${turn.full.question || ask.question}</pre>`;
}

const STRATEGIES = ["", "hybrid", "dense", "bm25", "fusion", "two_stage", "hierarchical", "sequential", "iterative", "graph", "graph_low", "graph_high"];
const REWRITING = ["", "none", "multi", "hyde", "step_back", "decompose", "keywords"];
const WHETHER = () => [["", t("as planned")], ["true", t("yes")], ["false", t("no")]];

// The same question with other settings; nothing of it is kept.
function Again({ turn }) {
  const [form, setForm] = useState({ level: turn.full?.ask.level || talk.level, strategy: "", top_k: "", rerank: "", dense_weight: "", rewrite: "", mode: "", verifies: "", unit: "" });
  const [other, setOther] = useState(null);
  const [, redraw] = useState(0);
  const set = (name) => (value) => setForm({ ...form, [name]: value });
  const or = (value, made) => (value === "" ? null : made(value));
  const run = async (event) => {
    event.preventDefault();
    const second = newTurn(turn.question, turn.collection);
    setOther(second);
    const ask = { question: turn.question, collection: turn.collection, principal: principal(), level: form.level, cache: false, keeps: false, id: second.id,
      strategy: or(form.strategy, String), top_k: or(form.top_k, Number), mode: or(form.mode, String), verifies: or(form.verifies, (value) => value === "true"),
      wanted: { rerank: or(form.rerank, (value) => value === "true"), dense_weight: or(form.dense_weight, Number), rewrite: or(form.rewrite, String), unit: or(form.unit, String) } };
    await follow(second, ask, undefined);
    redraw((count) => count + 1);
  };
  const named = (list) => list.map((value) => [value, value || t("as planned")]);
  const done = other && other.state !== "running";
  return html`<form class="card options" onSubmit=${run}>
      <${Choice} label=${t("Level")} value=${form.level} options=${levelNames()} onChange=${set("level")} />
      <${Choice} label=${t("Search")} value=${form.strategy} options=${named(STRATEGIES)} onChange=${set("strategy")} />
      <label class="field"><span>${t("Passages")}</span><input type="number" min="1" max="50" value=${form.top_k} placeholder=${t("as planned")} onInput=${(event) => set("top_k")(event.target.value)} /></label>
      <label class="field"><span>${t("Weight of meaning (0 to 1)")}</span><input type="number" min="0" max="1" step="0.05" value=${form.dense_weight} placeholder=${t("as planned")} onInput=${(event) => set("dense_weight")(event.target.value)} /></label>
      <${Choice} label=${t("Rerank the best passages")} value=${form.rerank} options=${WHETHER()} onChange=${set("rerank")} />
      <${Choice} label=${t("Other words")} value=${form.rewrite} options=${named(REWRITING)} onChange=${set("rewrite")} />
      <${Choice} label=${t("Size of a passage")} value=${form.unit} options=${named(["", "chunk", "paragraph", "section"])} onChange=${set("unit")} />
      <${Choice} label=${t("Wording")} value=${form.mode} options=${named(["", "simple", "advanced", "precise"])} onChange=${set("mode")} />
      <${Choice} label=${t("Judge and try again")} value=${form.verifies} options=${WHETHER()} onChange=${set("verifies")} />
      <button class="button primary" disabled=${other?.state === "running"}>${t("Ask with these")}</button></form>
    ${other?.error && html`<${Failure} error=${other.error} />`}
    ${other?.state === "running" && html`<${Busy} label=${t("Asking…")} />`}
    ${done && other.full && html`<div class="beside"><${Side} title=${t("Before")} turn=${turn} other=${other} /><${Side} title=${t("With these settings")} turn=${other} other=${turn} /></div>
      <${Compared} first=${turn} second=${other} />`}`;
}

function Side({ title, turn, other }) {
  return html`<section class="card"><h2>${title}</h2><p dir="auto" class="compared">${differences(turn.text, other.text).map(([part, own]) => (own ? html`<ins>${part}</ins>` : part))}</p></section>`;
}

// The words of a text, with those that the other one has not at their place (longest common row).
export function differences(text, other) {
  const own = text.split(/(\s+)/).slice(0, 1500), theirs = other.split(/(\s+)/).slice(0, 1500);
  const table = Array.from({ length: own.length + 1 }, () => new Uint16Array(theirs.length + 1));
  for (let i = own.length - 1; i >= 0; i -= 1) {
    for (let j = theirs.length - 1; j >= 0; j -= 1) table[i][j] = own[i] === theirs[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  }
  const found = [];
  const put = (word, isOwn) => {
    const last = found[found.length - 1];
    if (last && last[1] === isOwn) last[0] += word;
    else found.push([word, isOwn]);
  };
  let i = 0, j = 0;
  while (i < own.length) {
    if (j < theirs.length && own[i] === theirs[j]) { put(own[i], false); i += 1; j += 1; }
    else if (j < theirs.length && table[i][j + 1] >= table[i + 1][j]) j += 1;
    else { put(own[i], Boolean(own[i].trim())); i += 1; }
  }
  return found;
}

function Compared({ first, second }) {
  const rows = [[t("Confidence"), (run) => (run.answer?.confidence == null ? "" : percent(run.answer.confidence))], [t("Time"), (run) => duration(seconds(run.trace))],
    [t("Passages"), (run) => number(run.passages.length)], [t("Search"), (run) => run.full?.plan.strategy ?? ""],
    [t("Supported"), (run) => `${run.verdicts.filter((verdict) => verdict.label === "supported").length} / ${run.verdicts.length}`],
    [t("Tokens"), (run) => (run.full ? number(run.full.usage.prompt_tokens + run.full.usage.completion_tokens) : "")],
    [t("Sources"), (run) => [...new Set((run.answer?.citations || []).map((cited) => cited.title || cited.path))].join(", ")]];
  return html`<div class="scroll" tabindex="0"><table class="list"><thead><tr><td></td><th scope="col">${t("Before")}</th><th scope="col">${t("With these settings")}</th></tr></thead><tbody>
    ${rows.map(([name, of]) => html`<tr key=${name} class=${of(first) === of(second) ? "" : "touched"}><th scope="row">${name}</th><td dir="auto">${of(first)}</td><td dir="auto">${of(second)}</td></tr>`)}</tbody></table></div>`;
}
