// An answer's Markdown as a page shows it: no markup of its own, no pictures, citations as buttons.
import { html, useLayoutEffect, useMemo, useRef, copy } from "./lib.js";
import { t, VERDICTS } from "./words.js";
import MarkdownIt from "./vendor/markdown-it.js";
import DOMPurify from "./vendor/purify.js";

// Rows and items of an answer are lines of their own.
const reader = new MarkdownIt({ html: false, breaks: true, linkify: false, typographer: false });
const DELIMITERS = [["$$", "$$"], ["\\[", "\\]"], ["\\(", "\\)"], ["$", "$"]];
// A picture's address would tell its server that somebody reads this.
reader.disable("image");
// Formulas: $x$, $$x$$, \\(x\\) and \\[x\\]. Two prices are none: what stands between dollars neither
// begins nor ends with a space, and no figure follows.
reader.inline.ruler.before("escape", "formula", (state, silent) => {
  const { src, pos } = state;
  const [open, close] = DELIMITERS.find(([sign]) => src.startsWith(sign, pos)) || [];
  const end = open ? src.indexOf(close, pos + open.length) : -1;
  if (end < 0 || end >= state.posMax) return false;
  const content = src.slice(pos + open.length, end);
  if (!content.trim() || (open === "$" && (/^\s|\s$|[`\n]/.test(content) || /\d/.test(src[end + 1] || "")))) return false;
  if (!silent) Object.assign(state.push("formula", "code", 0), { content, meta: open === "$$" || open === "\\[" });
  state.pos = end + close.length;
  return true;
});
reader.block.ruler.before("fence", "formula", (state, from, to, silent) => {
  const first = state.src.slice(state.bMarks[from] + state.tShift[from], state.eMarks[from]);
  const [open, close] = DELIMITERS.slice(0, 2).find(([sign]) => first.startsWith(sign)) || [];
  if (!open) return false;
  const start = state.bMarks[from] + state.tShift[from] + open.length;
  const end = state.src.indexOf(close, start);
  let line = from;
  while (line < to && state.eMarks[line] < end) line += 1;
  if (end < 0 || line >= to || state.src.slice(end + close.length, state.eMarks[line]).trim()) return false;
  if (!silent) {
    Object.assign(state.push("formula", "code", 0), { content: state.src.slice(start, end), meta: true });
    state.line = line + 1;
  }
  return true;
}, { alt: ["paragraph"] });
reader.renderer.rules.formula = (tokens, at) =>
  `<code class="formula${tokens[at].meta ? " display" : ""}">${reader.utils.escapeHtml(tokens[at].content)}</code>`;

let typesetter = null;

// A formula as MathML, once what does that is loaded; what is no formula stays as it was written.
async function typeset(place, tex) {
  typesetter ??= import("./vendor/temml.js").then((found) => found.default);
  try {
    const { renderToString } = await typesetter;
    const options = { displayMode: place.classList.contains("display"), throwOnError: true, trust: false, maxSize: [50, 50], maxExpand: 200 };
    // Without its styles, which the page's policy would refuse while they are read.
    const markup = renderToString(tex.slice(0, 5_000), options).replace(/ style="[^"]*"/g, "");
    const made = DOMPurify.sanitize(markup, FORMULA);
    if (made.querySelector("math")) place.replaceChildren(made);
  } catch { place.classList.add("unread"); }
}

const FORMULA = { USE_PROFILES: { mathMl: true }, FORBID_ATTR: ["style", "href", "xlink:href", "id"], RETURN_DOM_FRAGMENT: true };
const ALLOWED = {
  ALLOWED_TAGS: ["p", "br", "strong", "em", "s", "code", "pre", "ul", "ol", "li", "blockquote", "hr",
    "h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td", "a"],
  ALLOWED_ATTR: ["href", "start", "class"],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  RETURN_DOM_FRAGMENT: true,
};
const MARKER = /\[(\d{1,3})\]/g;

// The text in parts that are drawn by themselves: while an answer grows, only its last part does.
export function parts(text) {
  const found = [];
  let part = [], fence = "", lastItem = false;
  const lines = text.split("\n");
  lines.forEach((line, number) => {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark && !fence) fence = mark;
    else if (mark && line.trim() === mark && mark[0] === fence[0] && mark.length >= fence.length) fence = "";
    part.push(line);
    if (line.trim()) lastItem = /^\s*([-*+]|\d+[.)])\s/.test(line) || (lastItem && /^\s/.test(line));
    const next = lines[number + 1];
    if (fence || line.trim() || next === undefined || !next.trim()) return;
    if (/^\s/.test(next) || (lastItem && /^\s*([-*+]|\d+[.)])\s/.test(next))) return;
    found.push(part.join("\n"));
    part = [];
  });
  if (part.length) found.push(part.join("\n"));
  return found.filter((part) => part.trim());
}

function fragment(text, cited) {
  const made = DOMPurify.sanitize(reader.render(text), ALLOWED);
  for (const link of made.querySelectorAll("a")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
  for (const code of made.querySelectorAll("code.formula")) {
    const around = Object.assign(document.createElement("span"), { className: code.className });
    around.dataset.tex = code.textContent;
    code.replaceWith(around);
    around.append(code);
    typeset(around, code.textContent);
  }
  for (const table of made.querySelectorAll("table")) wrap(table, "scroll").tabIndex = 0;
  for (const code of made.querySelectorAll("pre")) {
    const button = Object.assign(document.createElement("button"), {
      type: "button", className: "button copy-code", textContent: t("Copy") });
    button.addEventListener("click", async () => {
      await copy(code.textContent);
      button.textContent = t("Copied");
    });
    code.tabIndex = 0;
    wrap(code, "code").append(button);
  }
  if (cited) cite(made, cited);
  return made;
}

function wrap(element, name) {
  const around = Object.assign(document.createElement("div"), { className: name });
  element.replaceWith(around);
  around.append(element);
  return around;
}

// [1] outside of code becomes a button, if there is a source of this number.
function cite(made, cited) {
  const walker = document.createTreeWalker(made, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) if (!walker.currentNode.parentElement?.closest("code, pre, a, button")) texts.push(walker.currentNode);
  for (const text of texts) {
    const pieces = [];
    let last = 0;
    for (const found of text.data.matchAll(MARKER)) {
      const title = cited.get(Number(found[1]));
      if (title === undefined) continue;
      const button = Object.assign(document.createElement("button"), {
        type: "button", className: "cite", textContent: found[1], title });
      button.dataset.number = found[1];
      button.setAttribute("aria-label", t("Source {number}: {title}", { number: found[1], title }));
      pieces.push(text.data.slice(last, found.index), button);
      last = found.index + found[0].length;
    }
    if (pieces.length) text.replaceWith(...pieces, text.data.slice(last));
  }
}

function Part({ text, cited, names }) {
  const place = useRef(null);
  useLayoutEffect(() => { place.current.replaceChildren(fragment(text, cited)); }, [text, names]);
  return html`<div class="part" ref=${place}></div>`;
}

// `cited` are titles by the number of a source. `verdicts` colour the sentences, if given.
export function Markdown({ text, cited, verdicts, onCite, onVerdict }) {
  const box = useRef(null);
  const all = useMemo(() => parts(text), [text]);
  const names = cited ? [...cited.keys()].join() : "";
  useLayoutEffect(() => {
    mark(box.current, verdicts || []);
  }, [verdicts, text]);
  const clicked = (event) => {
    const button = event.target.closest(".cite");
    const marked = event.target.closest("mark[data-verdict]");
    if (button) onCite?.(Number(button.dataset.number), button);
    else if (marked) onVerdict?.(Number(marked.dataset.verdict));
  };
  return html`<div class="markdown" dir="auto" ref=${box} onClick=${clicked}
    onKeyDown=${(event) => event.key === "Enter" && event.target.matches("mark") && clicked(event)}>
    ${all.map((part, number) => html`<${Part} key=${number} text=${part} cited=${cited} names=${names} />`)}
  </div>`;
}

const NO_ROOT = /(\\sqrt)?\[\d{1,3}\]/g; // The 3 of \sqrt[3]{x} is no source.
const LETTER = /[\p{L}\p{N}]/u;

// Colour the sentences. They are found by their letters: marks of Markdown are gone by now. A formula
// is one piece, with the letters that it was written in.
function mark(box, verdicts) {
  for (const old of box.querySelectorAll("mark[data-verdict]")) {
    const parent = old.parentNode;
    old.replaceWith(...old.childNodes);
    parent.normalize();
  }
  if (!verdicts.length) return;
  const { pieces, letters } = lettersOf(box);
  // Every letter as one character, so that a place in the text is a place in `letters`.
  const whole = letters.map(([letter]) => (letter.length === 1 ? letter : "\uffff")).join("");
  let from = 0;
  const wanted = [];
  verdicts.forEach((verdict, number) => {
    const said = Array.from(verdict.sentence.replace(NO_ROOT, (found, root) => (root ? found : ""))).filter((letter) => LETTER.test(letter))
      .map((letter) => (letter.length === 1 ? letter : "\uffff")).join("");
    const at = said ? whole.indexOf(said, from) : -1;
    if (at < 0) return;
    from = at + said.length;
    wanted.push([number, verdict, letters[at], letters[from - 1]]);
  });
  // From the end, so that the places before stay right.
  for (const stretch of wanted.reverse()) paint(pieces, ...stretch);
}

// The texts and formulas of an answer, and each letter with its piece and its place in it.
function lettersOf(box) {
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  const pieces = [], letters = [];
  while (walker.nextNode()) {
    const formula = walker.currentNode.parentElement.closest(".formula");
    const node = formula || walker.currentNode;
    if (node === pieces.at(-1) || (!formula && node.parentElement.closest("button"))) continue;
    pieces.push(node);
    let place = 0;
    for (const character of formula ? formula.dataset.tex : node.data) {
      if (LETTER.test(character)) letters.push([character, pieces.length - 1, place, place + character.length]);
      place += character.length;
    }
  }
  return { pieces, letters };
}

const CLOSING = /^[.!?。！？؟…"”»)\]]+/;

// Mark what stands from one letter to another.
function paint(pieces, number, verdict, [, first, start], [, last, , end]) {
  for (let at = first; at <= last; at += 1) {
    const node = pieces[at];
    const around = document.createElement("mark");
    around.dataset.verdict = number;
    around.className = `verdict ${verdict.label}`;
    if (at === first) {
      around.tabIndex = 0;
      around.setAttribute("role", "button");
      around.setAttribute("aria-label", `${verdict.sentence} – ${t(VERDICTS[verdict.label])}`);
    }
    if (node.nodeType !== Node.TEXT_NODE) {
      node.replaceWith(around);
      around.append(node);
      const next = around.nextSibling;
      const after = at === last && next?.nodeType === Node.TEXT_NODE ? CLOSING.exec(next.data)?.[0].length : 0;
      if (after) {
        next.splitText(after);
        around.append(next);
      }
    } else if (node.data.trim()) {
      const rest = at === first ? node.splitText(start) : node;
      const until = at === last ? end - (at === first ? start : 0) : rest.length;
      rest.splitText(until + (at === last ? CLOSING.exec(rest.data.slice(until))?.[0].length || 0 : 0));
      rest.replaceWith(around);
      around.append(rest);
    }
  }
}
