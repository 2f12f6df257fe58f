// What chat models are told: each prompt by what it is for, as it is sent, in versions.
import { html, notify, useLoaded, useState } from "./lib.js";
import { request } from "./api.js";
import { Busy, Button, Failure, tried } from "./ui.js";
import { language, t, when } from "./words.js";

const GROUPS = {
  answers: "Answers", wording: "Form and wording", searching: "Understanding and searching", checking: "Checking", preparing: "Preparing documents",
};

const PROMPTS = {
  add_room_system_prompt: "Who the assistant is", answer: "Answer from the sources", structured: "Answer as JSON", conversation: "Conversation without documents", need_answer: "Request about the conversation",
  agent: "Agent with tools", sum_up: "Summary of a long text", table_query: "Query of a table", forbidden_guidance: "Reply to a blocked topic",
  "form.direct": "Direct answer", "form.summary": "Summary", "form.comparison": "Comparison", "form.list": "List", "form.analysis": "Analysis", "form.calculation": "Calculation", "form.steps": "Step by step",
  "mode.simple": "Short wording", "mode.advanced": "Detailed wording", "mode.precise": "Exact wording", quote_first: "Quote first", reasoning: "Reason first", suggestions: "Suggested questions", sources_used: "References used",
  rewrite_query: "Follow-up question", "rewrite.multi": "Other wordings", "rewrite.hyde": "Imagined passage", "rewrite.step_back": "Broader question", "rewrite.decompose": "Parts of a question", "rewrite.keywords": "Search terms",
  intent: "Kind of question", complexity: "Difficulty of a question", need: "Are documents needed?", need_first: "Common knowledge", same_question: "The same question?", rerank: "Order of the passages",
  guard_verification: "Is it a blocked topic?", judge_claims: "Sentences against sources", judge_answer: "Quality of an answer", appraisal: "Quality of what was found", thoughts: "Thinking about the sources",
  hypothetical_questions: "Questions for a passage", picture_description: "Description of a picture", graph_reading: "Names and relations",
};

const PURPOSES = {
  add_room_system_prompt: "Stands before the rules of every answer. Say here whom the assistant speaks for, and in which tone.",
  answer: "The rules of every answer from documents: sources, markers, and what is said where there is no answer.",
  structured: "The rules of an answer for which a program has asked as JSON.",
  conversation: "Answers a message where no documents are to be used.",
  need_answer: "Answers from what was said before, such as “put that in fewer words”.",
  agent: "Lets the chat model call tools to gather what it answers from.",
  sum_up: "Sums up the parts of a document that is too long to be read at once.",
  table_query: "Writes the query that computes an answer from a table.",
  forbidden_guidance: "What the person reads who asks about a blocked topic. It replaces the setting rag.forbidden_guidance.",
  form: "Added to the rules of the answer where the question asks for this form.",
  mode: "Added to the rules of the answer where this wording is chosen.",
  quote_first: "Added for small chat models, which answer better when they quote first.",
  reasoning: "Added for questions that need several steps of thought.",
  suggestions: "Added where the chat model suggests what to ask next.",
  sources_used: "Added where a program wants the numbers of the references that were used.",
  rewrite_query: "Makes a question of its own from one that refers to the conversation.",
  "rewrite.multi": "Asks the same in other words, to find more.",
  "rewrite.hyde": "Imagines a passage that could hold the answer, and searches for what is like it.",
  "rewrite.step_back": "Asks more broadly, for the background of the question.",
  "rewrite.decompose": "Takes a question apart that asks for several things.",
  "rewrite.keywords": "Finds the words to search for.",
  intent: "Recognises what kind of message was sent, such as a greeting or a comparison.",
  complexity: "Judges how much searching a question needs.",
  need: "Recognises requests that need no documents.",
  need_first: "Recognises questions that common knowledge answers.",
  same_question: "Recognises a question of a FAQ that is asked in other words.",
  rerank: "Puts the passages that were found in order.",
  guard_verification: "Judges whether a question near a blocked topic is about it.",
  judge_claims: "Compares the sentences of an answer with its sources.",
  judge_answer: "Judges an answer, and whether a further round would make it better.",
  appraisal: "Judges whether what was found answers the question.",
  thoughts: "Lets the chat model think about the sources before it answers.",
  hypothetical_questions: "Writes questions that a passage answers, when it is indexed.",
  picture_description: "Describes the pictures of a document, when it is indexed.",
  graph_reading: "Names people, places and things of passages and how they relate, for the graph.",
};

const PLACES = {
  answers: ["add_room_system_prompt", "answer", "structured", "conversation", "need_answer", "agent", "sum_up", "table_query", "forbidden_guidance"],
  wording: ["form", "mode", "quote_first", "reasoning", "suggestions", "sources_used"],
  checking: ["guard_verification", "judge_claims", "judge_answer", "appraisal", "thoughts"],
  preparing: ["hypothetical_questions", "picture_description", "graph_reading"],
};

const baseOf = (name) => Object.keys(PROMPTS).find((prompt) => name === prompt || name.startsWith(`${prompt}.`)) || name;
const groupOf = (base) => Object.keys(PLACES).find((group) => PLACES[group].includes(base) || PLACES[group].includes(base.split(".")[0])) || "searching";

// A prompt of one language has it behind its name.
function titleOf(name) {
  const base = baseOf(name), own = name.slice(base.length + 1);
  const title = PROMPTS[base] ? t(PROMPTS[base]) : base;
  return own ? `${title} (${new Intl.DisplayNames(language, { type: "language" }).of(own)})` : title;
}

const purposeOf = (prompt) => {
  const purpose = PURPOSES[baseOf(prompt.name)] || PURPOSES[prompt.name.split(".")[0]];
  return purpose ? t(purpose) : prompt.help;
};

export function PromptsView() {
  const found = useLoaded(() => request("/api/v1/prompts"), []);
  const [name, setName] = useState("answer");
  if (found.error) return html`<${Failure} error=${found.error} again=${found.reload} />`;
  if (!found.value) return html`<${Busy} />`;
  const { prompts } = found.value;
  const chosen = prompts.find((prompt) => prompt.name === name) || prompts[0];
  const sources = { file: t("from the settings file"), store: t("changed"), tenant: t("changed") };
  return html`<div class="halves"><div class="choices">${Object.entries(GROUPS).map(([group, title]) => html`<h2 key=${group}>${t(title)}</h2>
      <ul>${prompts.filter((prompt) => groupOf(baseOf(prompt.name)) === group).map((prompt) => html`<li key=${prompt.name}><button type="button" aria-pressed=${String(prompt.name === chosen.name)} onClick=${() => setName(prompt.name)}>
        ${titleOf(prompt.name)}${sources[prompt.source] && html` <span class="badge">${sources[prompt.source]}</span>`}</button></li>`)}</ul>`)}</div>
    <${OnePrompt} key=${chosen.name + chosen.version} prompt=${chosen} prompts=${prompts} reload=${found.reload} /></div>`;
}

function OnePrompt({ prompt, prompts, reload }) {
  const [text, setText] = useState(prompt.text);
  const [shows, setShows] = useState(false);
  const at = `/api/v1/prompts/${encodeURIComponent(prompt.name)}`;
  const versions = useLoaded(() => request(`${at}/versions`), [prompt.name]);
  const kept = () => { notify(t("Saved. It applies from the next question.")); reload(); };
  const put = () => tried(() => request(at, { method: "PUT", json: { text } }), kept);
  const check = () => tried(() => request(`${at}/check`, { method: "POST", json: { text } }), () => notify(t("No problems found.")));
  const back = (version) => tried(() => request(`${at}/rollback`, { method: "POST", json: { version } }), kept);
  const reset = () => tried(() => request(at, { method: "DELETE" }), kept);
  return html`<section class="card"><h2>${titleOf(prompt.name)}</h2><p>${purposeOf(prompt)}</p><p class="dim"><code>${prompt.name}</code></p>
    ${prompt.places.length > 0 && html`<p class="dim">${t("Required placeholders:")} ${prompt.places.map((placeholder) => html`<code>{${placeholder}}</code> `)}</p>`}
    ${prompt.allowed.length > 0 && html`<p class="dim">${t("Optional placeholders:")} ${prompt.allowed.map((placeholder) => html`<code>{${placeholder}}</code> `)}</p>`}
    <label class="field"><span>${t("Text")}</span><textarea rows="14" dir="auto" class="code-text" value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
    <p class="row"><button type="button" class="button primary" disabled=${text === prompt.text} onClick=${put}>${t("Save")}</button><${Button} label=${t("Validate")} onClick=${check} />
      <${Button} label=${t("Preview")} aria-expanded=${String(shows)} onClick=${() => setShows(!shows)} />
      ${["store", "tenant"].includes(prompt.source) && html`<${Button} icon="again" label=${t("Reset to the default text")} onClick=${reset} />`}</p>
    ${shows && html`<h3>${t("As it is sent, for a question in English")}</h3><pre class="code-text preview" tabindex="0" dir="auto">${filled(baseOf(prompt.name), text, prompts)}</pre>
      <p class="hint">${t("The question follows, with its sources or what else is asked about. What was sent for a question of yours is below Why.")}</p>`}
    ${versions.value?.versions.length > 0 && html`<h3>${t("Versions")}</h3><ul class="plain">${versions.value.versions.map((version) => html`<li key=${version.version} class="row"><span>${version.version} · ${when(version.updated_at)} · ${version.who}</span>
      <${Button} kind="small" label=${t("Show")} onClick=${() => setText(version.text)} />${version.version !== prompt.version && html`<${Button} kind="small" label=${t("Restore")} onClick=${() => back(version.version)} />`}</li>`)}</ul>`}</section>`;
}

// The text with its placeholders filled as they are for a short answer to a question in English.
function filled(name, text, prompts) {
  const holding = (wanted) => (prompts.find((prompt) => prompt.name === `${wanted}.en`) || prompts.find((prompt) => prompt.name === wanted))?.text.trim() || "";
  const answers = ["answer", "structured"].includes(name);
  const values = {
    language: answers ? "Answer in English." : "English", form: holding("form.direct"), mode: holding("mode.simple"),
    no_answer: "The documents do not hold an answer to this question.", count: "3", documents: "DOCUMENTS",
    kinds: "small_talk, follow_up, factual, summary, comparison, list, analytical, aggregation, multi_hop, procedural, faq",
    criteria: "relevance, accuracy, completeness, clarity, citation_quality",
  };
  const whole = text.trim().replace(/\{(\w+)\}/g, (place, key) => values[key] ?? place);
  return (answers ? `${holding("add_room_system_prompt")}\n${whole}` : whole).split("\n").filter((line) => line.trim()).join("\n");
}
