// Evaluation: questions with what is expected of their answers, asked with one setting or several,
// and what came of it; the same as `ragstone eval run FILE --html report.html`.
import { html, go, newId, notify, page, save, useEffect, useLoaded, useRef, useState } from "./lib.js";
import { call, may } from "./api.js";
import { levelNames } from "./ask.js";
import { Bars, Confidences, Lines } from "./plots.js";
import { ask as askUser, Bar, Busy, Button, Choice, Failure, Icon, tried } from "./ui.js";
import { duration, number, percent, t, when } from "./words.js";

const MEASURES = {
  right: "Right", refused_answerable: "Refused though answerable", answered_unanswerable: "Answered though unanswerable",
  source_cited: "Expected document cited", source_found: "Expected document among the first five",
  mrr: "Mean of 1 / place of the expected document", f1: "Words in common with the expected answer (F1)",
  supported: "Claims that the documents support", confidence: "Mean confidence", calibration_error: "Gap between confidence and truth",
  wrong_but_sure: "Wrong with high confidence", p50_seconds: "Half of the answers within", p95_seconds: "95% of answers within",
  tokens: "Tokens per question", cost: "Cost in dollars", questions: "Questions", judged: "Judged",
};
const REASONS = {
  refused: "It refused, though this can be answered.", answered: "It answered, although the documents do not contain this.",
  other_answer: "It contains none of the accepted answers.", other_source: "It cites none of the expected documents.",
  unlike_the_liked: "It differs from the answer that was rated good.", like_the_disliked: "It is the answer that was rated bad.", failed: "The question failed.",
};
const STATES = { queued: "Queued", running: "Running", paused: "Paused", done: "Done", failed: "Failed", cancelled: "Cancelled" };
const SHARES = new Set(["right", "refused_answerable", "answered_unanswerable", "source_cited", "source_found", "supported", "confidence", "calibration_error", "wrong_but_sure"]);
const BETTER_LOW = new Set(["refused_answerable", "answered_unanswerable", "calibration_error", "wrong_but_sure", "p50_seconds", "p95_seconds", "tokens", "cost"]);
const NEUTRAL = new Set(["questions", "judged", "confidence"]);
const PLOTTED = ["right", "source_found", "source_cited", "supported"];
const SHOWN = 50; // Questions that are drawn at a time.
const LARGEST = 20_000_000; // Characters of a file.

// Questions that were read from a file or from feedback, and are not kept yet.
const fresh = { name: "", collection: "", questions: [] };

export default function EvaluatePage() {
  const [, kind, id] = page.route;
  if (!may("evaluation.sets")) return html`<div class="sheet"><h1>${t("Evaluate")}</h1><p>${t("Your key does not allow this. Evaluations need the role editor.")}</p></div>`;
  if (kind === "set") return html`<${OneSet} key=${id} id=${id} />`;
  if (kind === "run" && id) return html`<${OneRun} key=${id} id=${id} />`;
  return html`<${Overview} />`;
}

export function why(reason) {
  return reason ? t(REASONS[reason]) : "";
}

export async function fromFeedback(collection) {
  const questions = await call("evaluation.from_feedback", { about: collection });
  if (!questions.length) { notify(t("Nobody has rated an answer about these documents yet.")); return; }
  Object.assign(fresh, { name: t("Feedback"), collection, questions });
  go("evaluate", "set", "new");
}

function Overview() {
  const sets = useLoaded(() => call("evaluation.sets"), [page.session]);
  const runs = useLoaded(() => call("evaluation.runs", { limit: 50 }), [page.session]);
  const collections = useLoaded(() => call("collections"), [page.session]);
  const file = useRef(null);
  const first = collections.value?.[0]?.collection.name || "default";
  const begin = () => { Object.assign(fresh, { name: "", collection: first, questions: [blank()] }); go("evaluate", "set", "new"); };
  const read = (event) => tried(async () => {
    const [given] = event.target.files;
    event.target.value = "";
    if (!given) return;
    if (given.size > LARGEST) throw new Error(t("The file is larger than {size} MB. Split it into smaller files.", { size: LARGEST / 1e6 }));
    const questions = await call("evaluation.read_file", { text: await given.text() });
    Object.assign(fresh, { name: given.name.replace(/\.\w+$/, ""), collection: first, questions });
    go("evaluate", "set", "new");
  });
  if (sets.error) return html`<div class="sheet"><${Failure} error=${sets.error} again=${sets.reload} /></div>`;
  return html`<div class="sheet"><h1>${t("Evaluate")}</h1>
    <p>${t("Questions with known answers, asked of your documents in the background: which answers are right, with which setting, and what changed since the last time.")}</p>
    <div class="row"><${Button} icon="edit" kind="primary" label=${t("Write questions")} onClick=${begin} />
      <${Button} icon="upload" label=${t("From a file")} onClick=${() => file.current.click()} />
      <input type="file" hidden id="question-file" ref=${file} accept=".jsonl,.json,.csv,.tsv,.txt" onChange=${read} aria-label=${t("From a file")} />
      ${may("evaluation.from_feedback") && html`<${Button} icon="up" label=${t("From feedback")} onClick=${() => tried(() => fromFeedback(first))} />`}</div>
    <p class="hint">${t("A file has one question per line, or is JSON lines or CSV with the fields question, answers, sources, answerable.")}</p>
    <h2>${t("Sets of questions")}</h2>
    ${!sets.value ? html`<${Busy} />` : sets.value.length ? html`<div class="scroll" tabindex="0"><table class="list"><thead><tr>${[t("Name"), t("Collection"), t("Questions"), t("Changed")].map((heading) => html`<th scope="col">${heading}</th>`)}</tr></thead>
      <tbody>${sets.value.map((set) => html`<tr key=${set.id}><td class="wide"><a dir="auto" href=${`#/evaluate/set/${set.id}`}>${set.name}</a></td><td dir="auto">${set.collection}</td><td class="figure">${number(set.size)}</td><td class="figure">${when(set.changed_at)}</td></tr>`)}</tbody></table></div>`
      : html`<p class="dim">${t("There are none yet.")}</p>`}
    <h2>${t("Runs")}</h2><${Runs} found=${runs} /></div>`;
}

function Runs({ found }) {
  useEffect(() => {
    if (!found.value?.some((run) => ["queued", "running"].includes(run.state))) return undefined;
    const timer = setTimeout(found.reload, 1500);
    return () => clearTimeout(timer);
  }, [found.value]);
  if (found.error) return html`<${Failure} error=${found.error} again=${found.reload} />`;
  if (!found.value) return html`<${Busy} />`;
  if (!found.value.length) return html`<p class="dim">${t("No evaluations yet.")}</p>`;
  return html`<div class="scroll" tabindex="0"><table class="list"><thead><tr>${[t("When"), t("Questions"), t("Collection"), t("State"), t("Right")].map((heading) => html`<th scope="col">${heading}</th>`)}</tr></thead>
    <tbody>${found.value.map((run) => html`<tr key=${run.id}><td class="figure"><a href=${`#/evaluate/run/${run.id}`}>${when(run.started_at)}</a></td><td class="wide" dir="auto">${run.set_name}</td><td dir="auto">${run.collection}</td>
      <td>${run.state === "running" ? t("{asked} of {total} asked", { asked: number(run.asked), total: number(run.total) }) : t(STATES[run.state])}</td>
      <td dir="auto">${run.figures.map((figure) => `${figure.setting} ${shown("right", figure.measures.right)}`).join(" · ")}</td></tr>`)}</tbody></table></div>`;
}

function blank() {
  return { key: newId(), question: "", answers: [], sources: [], answerable: true, liked: "", disliked: "", comment: "" };
}

function OneSet({ id }) {
  const isNew = id === "new";
  const found = useLoaded(() => (isNew ? Promise.resolve({ ...fresh }) : call("evaluation.question_set", { id })), [id]);
  if (found.error) return html`<div class="sheet"><${Failure} error=${found.error} again=${() => go("evaluate")} /></div>`;
  if (!found.value) return html`<div class="sheet"><${Busy} /></div>`;
  return html`<${SetForm} given=${found.value} isNew=${isNew} />`;
}

function SetForm({ given, isNew }) {
  const collections = useLoaded(() => call("collections"), []);
  const [name, setName] = useState(given.name);
  const [collection, setCollection] = useState(given.collection || "default");
  const [questions, setQuestions] = useState(given.questions.length ? given.questions.map((question) => ({ ...question, key: newId() })) : [blank()]);
  const [limit, setLimit] = useState(SHOWN);
  const [changed, setChanged] = useState(isNew);
  const change = (index, part) => { setQuestions(questions.map((question, place) => (place === index ? { ...question, ...part } : question))); setChanged(true); };
  const filled = questions.filter((question) => question.question.trim()).map(({ key, ...question }) => question);
  const keep = async () => {
    const kept = await call("evaluation.put_set", { collection, name, questions: filled });
    setChanged(false);
    return kept;
  };
  const kept = (event) => { event.preventDefault(); tried(keep, (saved) => { notify(t("The questions are saved.")); go("evaluate", "set", saved.id); }); };
  const remove = async () => {
    const sure = await askUser({ title: t("Delete this set of questions?"), text: name, confirm: t("Delete"), danger: true });
    if (sure) tried(() => call("evaluation.remove_set", { id: given.id }), () => go("evaluate"));
  };
  const download = () => save(`${name || "questions"}.jsonl`, filled.map((question) => JSON.stringify(question)).join("\n") + "\n", "application/jsonl");
  const names = (collections.value || []).map((collection) => [collection.collection.name, collection.collection.name]);
  if (!names.some(([name]) => name === collection)) names.push([collection, collection]);
  return html`<div class="sheet"><p><a href="#/evaluate">${t("Evaluate")}</a></p>
    <h1 dir="auto">${isNew ? t("New set of questions") : given.name}</h1>
    <form onSubmit=${kept}>
      <div class="options"><label class="field"><span>${t("Name")}</span><input required maxlength="255" dir="auto" value=${name} onInput=${(event) => { setName(event.target.value); setChanged(true); }} /></label>
        <${Choice} label=${t("Collection")} value=${collection} options=${names} onChange=${(value) => { setCollection(value); setChanged(true); }} /></div>
      <ol class="questions">${questions.slice(0, limit).map((question, index) => html`<${OneQuestion} key=${question.key} number=${index + 1} question=${question} onChange=${(part) => change(index, part)}
        onRemove=${() => { setQuestions(questions.filter((_, place) => place !== index)); setChanged(true); }} />`)}</ol>
      ${questions.length > limit && html`<p><${Button} label=${t("Show {count} more questions", { count: number(questions.length - limit) })} onClick=${() => setLimit(limit + SHOWN)} /></p>`}
      <div class="row"><${Button} icon="plus" label=${t("Another question")} onClick=${() => { setQuestions([...questions, blank()]); setLimit(Math.max(limit, questions.length + 1)); setChanged(true); }} />
        <button class="button primary" disabled=${!changed || !filled.length}>${t("Save")}</button>
        <${Button} icon="save" label=${t("Download")} onClick=${download} />
        ${!isNew && html`<${Button} icon="trash" label=${t("Delete")} onClick=${remove} />`}</div></form>
    ${filled.length > 0 && html`<${Begin} ready=${Boolean(name.trim())} keep=${changed ? keep : () => Promise.resolve(given)} />`}
    ${!isNew && html`<${History} set=${given.id} />`}</div>`;
}

// One accepted answer, or one document, in each line.
function lines(text) {
  return text.split("\n").map((line) => line.trim()).filter(Boolean);
}

function OneQuestion({ number: place, question, onChange, onRemove }) {
  const [answers, setAnswers] = useState(question.answers.join("\n"));
  const [sources, setSources] = useState(question.sources.join("\n"));
  return html`<li class="card"><div class="row spread"><label class="field grow"><span>${t("Question {number}", { number: place })}</span>
      <input dir="auto" maxlength="20000" value=${question.question} onInput=${(event) => onChange({ question: event.target.value })} /></label>
      <${Button} icon="trash" quiet label=${t("Remove question {number}", { number: place })} onClick=${onRemove} /></div>
    <div class="expected"><label class="field"><span>${t("Accepted answers, one per line")}</span><textarea rows="2" dir="auto" disabled=${!question.answerable} value=${answers}
        onInput=${(event) => { setAnswers(event.target.value); onChange({ answers: lines(event.target.value) }); }}></textarea></label>
      <label class="field"><span>${t("Documents that contain it, one per line")}</span><textarea rows="2" dir="auto" disabled=${!question.answerable} value=${sources} placeholder="report.pdf#page=3"
        onInput=${(event) => { setSources(event.target.value); onChange({ sources: lines(event.target.value) }); }}></textarea></label></div>
    <label class="row"><input type="checkbox" checked=${!question.answerable} onChange=${(event) => onChange({ answerable: !event.target.checked })} /> <span>${t("The documents do not contain the answer")}</span></label>
    ${question.liked && html`<p class="judged"><${Icon} name="up" /> <strong>${t("Good answer")}:</strong> <span dir="auto">${question.liked.slice(0, 400)}</span></p>`}
    ${question.disliked && html`<p class="judged"><${Icon} name="down" /> <strong>${t("Bad answer")}:</strong> <span dir="auto">${question.disliked.slice(0, 400)}</span></p>`}
    ${question.comment && html`<p class="dim" dir="auto">${question.comment}</p>`}</li>`;
}

const STRATEGIES = ["", "hybrid", "dense", "bm25", "fusion", "two_stage", "hierarchical", "sequential", "iterative", "graph", "graph_low", "graph_high"];
const REWRITING = ["", "none", "multi", "hyde", "step_back", "decompose", "keywords"];

function plain() {
  return { name: "", level: "standard", strategy: "", top_k: "", dense_weight: "", rerank: "", rewrite: "" };
}

// Which settings to compare, and the button that begins.
function Begin({ ready, keep }) {
  const [settings, setSettings] = useState([plain()]);
  const [busy, setBusy] = useState(false);
  const or = (value, made) => (value === "" ? null : made(value));
  const change = (index, part) => setSettings(settings.map((setting, place) => (place === index ? { ...setting, ...part } : setting)));
  const begin = () => tried(async () => {
    setBusy(true);
    try {
      const kept = await keep();
      const given = settings.map((setting) => ({ name: setting.name, level: setting.level, strategy: or(setting.strategy, String), top_k: or(setting.top_k, Number),
        wanted: { dense_weight: or(setting.dense_weight, Number), rerank: or(setting.rerank, (value) => value === "true"), rewrite: or(setting.rewrite, String) } }));
      const run = await call("evaluation.start", { id: kept.id, settings: given });
      go("evaluate", "run", run.id);
    } finally { setBusy(false); }
  });
  const named = (list) => list.map((value) => [value, value || t("as planned")]);
  return html`<h2>${t("Ask them")}</h2>
    ${settings.map((setting, index) => html`<section class="card options" key=${index} aria-label=${t("Setting {number}", { number: index + 1 })}>
      <label class="field"><span>${t("Name of the setting")}</span><input dir="auto" maxlength="80" value=${setting.name} placeholder=${index ? "" : t("as planned")} onInput=${(event) => change(index, { name: event.target.value })} /></label>
      <${Choice} label=${t("Level")} value=${setting.level} options=${levelNames()} onChange=${(level) => change(index, { level })} />
      <${Choice} label=${t("Search")} value=${setting.strategy} options=${named(STRATEGIES)} onChange=${(strategy) => change(index, { strategy })} />
      <label class="field"><span>${t("Passages")}</span><input type="number" min="1" max="50" value=${setting.top_k} placeholder=${t("as planned")} onInput=${(event) => change(index, { top_k: event.target.value })} /></label>
      <label class="field"><span>${t("Weight of meaning (0 to 1)")}</span><input type="number" min="0" max="1" step="0.05" value=${setting.dense_weight} placeholder=${t("as planned")} onInput=${(event) => change(index, { dense_weight: event.target.value })} /></label>
      <${Choice} label=${t("Rerank the best passages")} value=${setting.rerank} options=${[["", t("as planned")], ["true", t("yes")], ["false", t("no")]]} onChange=${(rerank) => change(index, { rerank })} />
      <${Choice} label=${t("Other words")} value=${setting.rewrite} options=${named(REWRITING)} onChange=${(rewrite) => change(index, { rewrite })} />
      ${settings.length > 1 && html`<${Button} icon="trash" label=${t("Remove")} onClick=${() => setSettings(settings.filter((_, place) => place !== index))} />`}</section>`)}
    <div class="row"><${Button} kind="primary" icon="send" label=${t("Start")} disabled=${busy || !ready} onClick=${begin} />
      ${settings.length < 8 && html`<${Button} icon="plus" label=${t("Another setting to compare")} onClick=${() => setSettings([...settings, plain()])} />`}</div>`;
}

function History({ set }) {
  const runs = useLoaded(() => call("evaluation.runs", { set_id: set, limit: 50 }), [set]);
  return html`<h2>${t("Runs")}</h2><${OverRuns} runs=${runs.value || []} /><${Runs} found=${runs} />`;
}

function OverRuns({ runs }) {
  const done = runs.filter((run) => run.figures.length).slice(0, 20).reverse();
  if (done.length < 2) return null;
  const names = [...new Set(done.flatMap((run) => run.figures.map((figure) => figure.setting)))];
  const points = (name) => done.flatMap((run, place) => {
    const right = run.figures.find((figure) => figure.setting === name)?.measures.right;
    return right === null || right === undefined ? [] : [[place, right]];
  });
  return html`<${Lines} title=${t("Right, from run to run")} lines=${names.map((name) => [name, points(name)])} places=${done.length} labels=${done.map((run) => when(run.started_at))} />`;
}

export function shown(name, value) {
  if (value === null || value === undefined) return "–";
  if (SHARES.has(name)) return percent(value);
  if (name.endsWith("_seconds")) return duration(value);
  if (name === "cost") return `$${value.toFixed(4)}`;
  return number(value, name === "mrr" || name === "f1" ? 3 : 0);
}

// How far a measure is from what it was: its words, and whether that is better.
function moved(name, now, before) {
  if (now === null || now === undefined || before === null || before === undefined || Math.abs(now - before) < 5e-4) return null;
  const sign = now > before ? "+" : "−";
  const far = Math.abs(now - before);
  const text = SHARES.has(name) ? percent(far) : shown(name, far);
  return { text: sign + text, kind: NEUTRAL.has(name) ? "dim" : (now < before) === BETTER_LOW.has(name) ? "up" : "down" };
}

function OneRun({ id }) {
  const found = useLoaded(() => call("evaluation.run", { id }), [id]);
  const run = found.value;
  const others = useLoaded(() => (run ? call("evaluation.runs", { set_id: run.set_id, limit: 50 }) : Promise.resolve([])), [run?.set_id, run?.state]);
  const [earlier, setEarlier] = useState(null);
  useEffect(() => {
    if (!run || !["queued", "running"].includes(run.state)) return undefined;
    const timer = setTimeout(found.reload, 1000);
    return () => clearTimeout(timer);
  }, [run]);
  const before = (others.value || []).filter((run) => run.figures.length && run.id !== id);
  const past = before.filter((earlierRun) => earlierRun.started_at < (run?.started_at ?? 0));
  const chosen = earlier === null ? past[0]?.id || "" : earlier;
  const other = before.find((earlierRun) => earlierRun.id === chosen) || null;
  const changes = useLoaded(() => (other && run?.figures.length ? call("evaluation.changes", { id, earlier: other.id }) : Promise.resolve([])), [id, other?.id, run?.state]);
  if (found.error) return html`<div class="sheet"><${Failure} error=${found.error} again=${() => go("evaluate")} /></div>`;
  if (!run) return html`<div class="sheet"><${Busy} /></div>`;
  const going = ["queued", "running", "paused"].includes(run.state);
  const report = () => tried(() => call("evaluation.report", { id, earlier: other?.id || "" }), (text) => save("report.html", text, "text/html"));
  const remove = async () => {
    const sure = await askUser({ title: t("Delete this run?"), text: run.set_name, confirm: t("Delete"), danger: true });
    if (sure) tried(() => call("evaluation.remove_run", { id }), () => go("evaluate"));
  };
  return html`<div class="sheet"><p><a href="#/evaluate">${t("Evaluate")}</a> · <a href=${`#/evaluate/set/${run.set_id}`} dir="auto">${run.set_name}</a></p>
    <div class="row spread"><h1 dir="auto">${run.set_name}</h1><div class="row">
      ${going && html`<${Button} icon="stop" label=${t("Cancel")} onClick=${() => tried(() => call("jobs.cancel", { id }), found.reload)} />`}
      ${["failed", "cancelled"].includes(run.state) && html`<${Button} icon="again" label=${t("Continue")} onClick=${() => tried(() => call("jobs.retry", { id }), found.reload)} />`}
      ${run.figures.length > 0 && html`<${Button} icon="save" label=${t("Report as HTML")} onClick=${report} />`}
      <${Button} icon="trash" label=${t("Delete")} onClick=${remove} /></div></div>
    <p class="dim">${[run.collection, when(run.started_at), t(STATES[run.state])].join(" · ")}</p>
    ${going && html`<p role="status">${t("{asked} of {total} asked", { asked: number(run.asked), total: number(run.total) })}</p><${Bar} share=${run.total ? run.asked / run.total : null} />`}
    ${run.error && html`<div class="callout bad"><${Icon} name="warn" /><div dir="auto">${run.error}</div></div>`}
    ${run.figures.length > 0 && html`<${Measures} run=${run} before=${other} all=${before} chosen=${chosen} onChoose=${setEarlier} />
      <div class="plots">${PLOTTED.map((name) => run.figures.some((figure) => figure.measures[name] !== null) && html`<${Bars} key=${name} title=${t(MEASURES[name])} rows=${run.figures.map((figure) => [figure.setting, figure.measures[name]])} />`)}</div>
      <${OverRuns} runs=${others.value || []} />
      ${run.figures.some((figure) => figure.steps.length) && html`<h2>${t("Is the confidence accurate?")}</h2><p>${t("Across: how sure the answers were. Up: the share of them that is right. On the line, the confidence is true.")}</p>
        <div class="plots" dir="ltr">${run.figures.map((figure, index) => figure.steps.length > 0 && html`<${Confidences} key=${figure.setting} title=${figure.setting} steps=${figure.steps} index=${index} />`)}</div>`}
      ${other && html`<${Changes} id=${id} run=${run} changes=${changes} />`}`}
    <${Outcomes} run=${run} /></div>`;
}

function Measures({ run, before, all, chosen, onChoose }) {
  const names = Object.keys(MEASURES).filter((name) => run.figures.some((figure) => figure.measures[name] !== null && figure.measures[name] !== undefined));
  const old = (setting, index) => before?.figures.find((figure) => figure.setting === setting) || (before?.figures.length === 1 && index === 0 ? before.figures[0] : null);
  return html`<div class="row spread"><h2>${t("Measures")}</h2>
      ${all.length > 0 && html`<${Choice} label=${t("Compared with")} value=${chosen} onChange=${onChoose} options=${[["", t("nothing")], ...all.map((run) => [run.id, when(run.started_at)])]} />`}</div>
    <div class="scroll" tabindex="0"><table class="list"><thead><tr><td></td>${run.figures.map((figure) => html`<th scope="col" dir="auto">${figure.setting}</th>`)}</tr></thead>
    <tbody>${names.map((name) => html`<tr key=${name}><th scope="row">${t(MEASURES[name])}</th>${run.figures.map((figure, index) => {
      const step = moved(name, figure.measures[name], old(figure.setting, index)?.measures[name]);
      return html`<td class="figure">${shown(name, figure.measures[name])} ${step && html`<span class=${step.kind} dir="ltr">${step.text}</span>`}</td>`;
    })}</tr>`)}</tbody></table></div>`;
}

function Changes({ id, run, changes }) {
  if (!changes.value) return null;
  const said = (right) => (right === null ? t("not judged") : right ? t("right") : t("wrong"));
  return html`<h2>${t("Different from before")}</h2>
    ${!changes.value.length ? html`<p class="dim">${t("Every question is judged as before.")}</p>` : html`<div class="scroll" tabindex="0"><table class="list"><tbody>
      ${changes.value.map((change) => html`<tr key=${change.setting + change.number}><td class="wide"><a dir="auto" href=${`#/why/run/${id}/${run.settings.findIndex((setting) => setting.name === change.setting)}/${change.number}`}>${change.question}</a></td><td dir="auto">${change.setting}</td>
        <td class=${change.after ? "up" : "down"}>${said(change.before)} → ${said(change.after)}</td></tr>`)}</tbody></table></div>`}`;
}

function Outcomes({ run }) {
  const [which, setWhich] = useState("wrong");
  const [setting, setSetting] = useState("");
  const [limit, setLimit] = useState(SHOWN);
  const found = useLoaded(() => call("evaluation.outcomes", { id: run.id, which, setting: setting === "" ? null : Number(setting), limit }),
    [run.id, run.state, which, setting, limit]);
  if (found.error) return html`<${Failure} error=${found.error} again=${found.reload} />`;
  return html`<h2>${t("Answers")}</h2><div class="row filters">
      <${Choice} hidden label=${t("Which")} value=${which} options=${[["wrong", t("The wrong ones")], ["all", t("All")]]} onChange=${setWhich} />
      ${run.settings.length > 1 && html`<${Choice} hidden label=${t("Setting")} value=${setting} options=${[["", t("All settings")], ...run.settings.map((setting, index) => [String(index), setting.name])]} onChange=${setSetting} />`}</div>
    ${!found.value ? html`<${Busy} />` : !found.value.length ? html`<p class="dim">${which === "wrong" ? t("None of the judged answers is wrong.") : t("No questions yet.")}</p>`
      : html`<ul class="outcomes">${found.value.map((outcome) => html`<li key=${`${outcome.number}-${outcome.setting}`} class=${`card ${outcome.right === null ? "" : outcome.right ? "is-right" : "is-wrong"}`}>
        <div class="row spread"><a dir="auto" href=${`#/why/run/${run.id}/${outcome.setting}/${outcome.number}`}><strong>${outcome.question.question}</strong></a>
          <span class=${`badge ${outcome.right === null ? "" : outcome.right ? "high" : "low"}`}><${Icon} name=${outcome.right ? "check" : outcome.right === null ? "ask" : "warn"} />${outcome.right === null ? t("not judged") : outcome.right ? t("right") : t("wrong")}</span></div>
        <p class="dim" dir="auto">${[run.settings.length > 1 && run.settings[outcome.setting].name, outcome.error || why(outcome.reason), outcome.confidence !== null && t("Confidence {share}", { share: percent(outcome.confidence) })].filter(Boolean).join(" · ")}</p>
        <p class="snippet" dir="auto">${outcome.text.slice(0, 400)}</p></li>`)}</ul>`}
    ${found.value?.length === limit && html`<${Button} label=${t("Show more")} onClick=${() => setLimit(limit + SHOWN)} />`}`;
}
