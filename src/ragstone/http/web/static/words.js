// The language of the page. Texts are named by their English; a file of languages/ has the others.
import { remember, remembered } from "./lib.js";

export const LANGUAGES = { en: "English", de: "Deutsch", zh: "中文", ko: "한국어", ar: "العربية" };
let words = {};
export let language = "en";

// `keeps` remembers the choice for the next visit.
export async function speak(wanted, keeps = true) {
  language = LANGUAGES[wanted] ? wanted : "en";
  words = language === "en" ? {} : (await import(`./languages/${language}.js`)).default;
  document.documentElement.lang = language;
  document.documentElement.dir = language === "ar" ? "rtl" : "ltr";
  if (keeps) remember("language", language);
}

export function preferred() {
  const chosen = remembered("language", "");
  const own = navigator.languages.map((language) => language.slice(0, 2));
  return chosen || own.find((language) => LANGUAGES[language]) || "en";
}

// How a text reads where its {count} is one.
const SINGULAR = {
  "{count} passages": "{count} passage",
  "{count} passages still being indexed": "{count} passage still being indexed",
  "{count} more passages were read": "{count} more passage was read",
  "{count} documents": "{count} document",
  "Delete {count} documents?": "Delete {count} document?",
  "{count} pages": "{count} page",
  "{count} files": "{count} file",
  "{count} characters": "{count} character",
  "{count} settings": "{count} setting",
  "{count} documents have not been read for the graph yet. The setting rag.knowledge_graph_enabled switches it on.": "{count} document has not been read for the graph yet. The setting rag.knowledge_graph_enabled switches it on.",
  "{count} steps in {time}": "{count} step in {time}",
  "{count} times": "{count} time",
  "Show {count} earlier questions": "Show {count} earlier question",
  "Show {count} more questions": "Show {count} more question",
  "{count} questions were removed from the cache.": "{count} question was removed from the cache.",
};

// A text in the page's language, with {names} filled in.
export function t(text, values = {}) {
  const asked = SINGULAR[text] && String(values.count) === number(1) ? SINGULAR[text] : text;
  return (words[asked] ?? asked).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// Making one costs more than a row of a list does.
const formats = new Map();

function format(Kind, options, value) {
  const name = `${language} ${JSON.stringify(options)}`;
  if (!formats.has(name)) formats.set(name, new Kind(language, options));
  return formats.get(name).format(value);
}

export function number(value, digits = 0) {
  return format(Intl.NumberFormat, { maximumFractionDigits: digits }, value);
}

export function percent(value) {
  return format(Intl.NumberFormat, { style: "percent" }, value);
}

export function when(seconds) {
  return format(Intl.DateTimeFormat, { dateStyle: "medium", timeStyle: "short" }, new Date(seconds * 1000));
}

export function duration(seconds) {
  if (seconds < 0.01) return asWritten(`${number(Math.max(seconds * 1000, 0.1), 1)} ms`);
  if (seconds < 1) return asWritten(`${number(seconds * 1000)} ms`);
  return asWritten(seconds < 90 ? `${number(seconds, 1)} s` : `${number(seconds / 60, 1)} min`);
}

// From left to right, also among words from right to left.
function asWritten(text) {
  return document.documentElement.dir === "rtl" ? `\u2066${text}\u2069` : text;
}

export function size(bytes) {
  const unit = bytes < 1e3 ? "byte" : bytes < 1e6 ? "kilobyte" : "megabyte";
  const by = { byte: 1, kilobyte: 1e3, megabyte: 1e6 }[unit];
  const unitDisplay = unit === "byte" ? "long" : "short";
  return format(Intl.NumberFormat, { style: "unit", unit, unitDisplay, maximumFractionDigits: 1 }, bytes / by);
}

// What the server says of these is for people at a command line.
const GONE = {
  unknown_collection: "There is no such collection, or you may not read it. Choose another one.",
  unknown_document: "This document is not here any more, or you may not read it. Choose another one under Documents.",
  unknown_room: "This conversation is not here any more. Choose another one, or ask a new question.",
};

// What an error says to a person; the server's sentences are in English.
export function sentence(error) {
  if (GONE[error.code]) return t(GONE[error.code]);
  if (error.code === "offline") return t("The server does not answer. Is it running?");
  if (error.code === "lost") return t("The connection was lost in the middle of the answer.");
  return error.message || String(error);
}

// A name without the characters that turn its letters round, which make an ending look like another.
export function legible(name) {
  return name.replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

// Why a file failed, without its name, which stands before it.
export function reasonFor(path, reason) {
  const name = `${path.split("/").pop()} `;
  const rest = reason.startsWith(name) ? reason.slice(name.length) : reason;
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

export const VERDICTS = {
  supported: "Supported",
  partly: "Partly supported",
  contradicted: "Contradicted",
  unsupported: "Not supported",
  no_claim: "Makes no claim",
};
