// A document as it was read: its blocks in order, with what supports an answer marked.
import { html, notify, places, useEffect, useLayoutEffect, useLoaded, useMemo, useRef, useState } from "./lib.js";
import { call, may } from "./api.js";
import { FindField } from "./find.js";
import { Pictures } from "./pictures.js";
import { Busy, Button, Failure } from "./ui.js";
import { number, sentence, t } from "./words.js";

const WINDOW = 40_000; // Characters that are shown at a time,
const FOUND_IN = 400_000; // and that words are looked for in.

// Who may not read whole documents sees the `passage` and what stands around it. `spans` ({start, end}) are marked, and
// stepped through; `page` is where to begin without one.
export function DocumentView({ collection, path, spans, page, passage }) {
  return may("reading.read") ? html`<${WholeDocument} collection=${collection} path=${path} spans=${spans} page=${page} />`
    : html`<${PassageText} collection=${collection} passage=${passage} span=${spans[0]} />`;
}

function PassageText({ collection, passage, span }) {
  const read = useLoaded(() => call("reading.passage", { collection, passage }), [collection, passage]);
  const box = useShownMark(read.value, span);
  if (read.error) return html`<${Failure} error=${read.error} again=${read.reload} />`;
  if (!read.value) return html`<${Busy} label=${t("Opening the document…")} />`;
  return html`<div ref=${box} class="document" dir="auto"><${Blocks} read=${read.value} spans=${[span]} span=${span} collection=${collection} /></div>`;
}

// The element in which the mark is scrolled to, once it is drawn.
function useShownMark(drawn, span) {
  const box = useRef(null);
  useLayoutEffect(() => {
    box.current?.querySelector("mark.current")?.scrollIntoView({ block: "center" });
  }, [drawn, span?.start, span?.end]);
  return box;
}

// A PDF file is shown as it looks, if the server still has it; everything else, and that on demand, as the text that was
// read, or as the index has it.
function WholeDocument({ collection, path, spans, page }) {
  const [current, setCurrent] = useState(0);
  const [view, setView] = useState("original");
  const [missing, setMissing] = useState(null);
  const key = JSON.stringify(spans);
  const start = Math.max(0, Math.min(...spans.map((span) => span.start), Infinity) - 2000), end = Math.max(...spans.map((span) => span.end), 0);
  const about = useLoaded(
    () => call("reading.read", { collection, path, offset: end ? start : 0, limit: end ? end - start + 2000 : 2000 }),
    [collection, path, key],
  );
  const drawn = useLoaded(() => (may("reading.original") ? import("./pdf.js") : Promise.resolve(null)), []);
  const marks = useMemo(() => (about.value ? spans.map((span) => linesOf(about.value, span)) : []), [about.value, key]);
  useEffect(() => setCurrent(0), [key]);
  if (about.error) return html`<${Failure} error=${about.error} again=${about.reload} />`;
  if (!about.value) return html`<${Busy} label=${t("Opening the document…")} />`;
  const isPdf = about.value.document.media_type === "application/pdf" && !drawn.error && may("reading.original");
  const shown = view === "original" && (!isPdf || missing) ? "text" : view;
  const views = [...(isPdf ? [["original", t("Original")]] : []), ["text", t("Extracted text")], ["index", t("Index view")]];
  const step = (by) => setCurrent((current + by + spans.length) % spans.length);
  return html`<div class="row views"><div class="row" role="group" aria-label=${t("Views of the document")}>
      ${views.map(([name, label]) => html`<button type="button" key=${name} class="button small" aria-pressed=${String(shown === name)}
        disabled=${name === "original" && Boolean(missing)} onClick=${() => setView(name)}>${label}</button>`)}</div>
      ${spans.length > 1 && html`<div class="row" role="group" aria-label=${t("Marks")}><${Button} icon="before" quiet label=${t("Previous mark")} onClick=${() => step(-1)} />
        <span role="status">${t("Mark {current} of {total}", { current: number(current + 1), total: number(spans.length) })}</span>
        <${Button} icon="after" quiet label=${t("Next mark")} onClick=${() => step(1)} /></div>`}</div>
    ${missing && html`<p class="note">${sentence(missing)}</p>`}
    ${shown !== "original" ? html`<${DocumentText} key=${shown} collection=${collection} path=${path} spans=${spans} current=${current} chunks=${shown === "index"} />`
      : drawn.value ? html`<${drawn.value.PdfPages} collection=${collection} path=${path} page=${page} marks=${marks} current=${current} onMissing=${setMissing} />` : html`<${Busy} />`}`;
}

// Where the span stands on its pages: the lines that it touches, with the text of those that it does not fill.
function linesOf(read, span) {
  const first = span.start - read.offset, last = span.end - read.offset, at = places(read.text);
  return read.blocks.flatMap((block) => block.places.flatMap((place, index) => {
    const end = block.places[index + 1]?.start ?? block.end;
    if (!place.box || place.start >= last || first >= end) return [];
    const whole = first <= place.start && end <= last;
    return [{ page: place.page, ...place.box, text: whole ? "" : read.text.slice(at(Math.max(first, place.start)), at(Math.min(last, end))) }];
  }));
}

// The text that was read, a part at a time; `chunks` shows where the passages of the index begin and end.
function DocumentText({ collection, path, spans, current, chunks }) {
  const [range, setRange] = useState(null);
  const [found, setFound] = useState(null);
  const span = found?.matches[found.current] || spans[current];
  const holds = (place) => range && (!place || (range.offset <= place.start && place.end <= range.offset + range.limit));
  const shown = holds(span) ? range : { offset: span ? Math.max(0, Math.floor(span.start - WINDOW / 3)) : 0, limit: WINDOW };
  const read = useLoaded(() => call("reading.read", { collection, path, offset: shown.offset, limit: shown.limit }), [collection, path, shown.offset, shown.limit]);
  const box = useShownMark(read.value, span);
  useEffect(() => setRange(shown), [shown.offset, shown.limit]);
  if (read.error) return html`<${Failure} error=${read.error} again=${read.reload} />`;
  if (!read.value) return html`<${Busy} label=${t("Opening the document…")} />`;
  const text = read.value;
  const end = text.offset + Array.from(text.text).length;
  const earlier = () => {
    const offset = Math.max(0, shown.offset - WINDOW);
    setRange({ offset, limit: shown.limit + shown.offset - offset });
  };
  const find = async (words, step) => {
    const matches = step && found ? found.matches : await matchesOf(collection, path, words);
    const next = step && found ? (found.current + step + matches.length) % matches.length : 0;
    setFound({ matches, current: matches.length ? next : 0 });
  };
  return html`<div class="row pager"><${FindField} matches=${found && { current: found.current + 1, total: found.matches.length }}
      onFind=${(words, step) => find(words, step).catch((error) => notify(sentence(error), "bad"))} onEnd=${() => setFound(null)} /></div>
    <div ref=${box} class="document" dir="auto">
    ${text.offset > 0 && html`<${Button} label=${t("Show what comes before")} onClick=${earlier} />`}
    <${Blocks} read=${text} spans=${found ? found.matches : spans} span=${span} chunks=${chunks} collection=${collection} />
    ${end < text.total && html`<${Button} label=${t("Show {count} more characters", { count: number(text.total - end) })}
      onClick=${() => setRange({ ...shown, limit: shown.limit + WINDOW })} />`}
  </div>`;
}

// Where the words stand in a whole document, whatever the spaces between them and their capitals.
async function matchesOf(collection, path, words) {
  let text = "", offset = 0, total = 1;
  while (offset < total) {
    const part = await call("reading.read", { collection, path, offset, limit: FOUND_IN });
    text += part.text;
    offset += FOUND_IN;
    total = part.total;
  }
  const escaped = words.trim().split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const lengths = [];
  let counted = 0, last = 0;
  for (const match of text.matchAll(new RegExp(escaped.join("\\s+"), "giu"))) {
    counted += Array.from(text.slice(last, match.index)).length;
    const length = Array.from(match[0]).length;
    lengths.push({ start: counted, end: counted + length });
    counted += length;
    last = match.index + match[0].length;
  }
  return lengths;
}

// `spans` are marked; `span` is the one among them to look at.
function Blocks({ read, spans, span, chunks, collection }) {
  const at = places(read.text);
  const shift = (place) => at(place - read.offset);
  const end = read.offset + Array.from(read.text).length;
  const near = spans.filter((item) => item && item.start < end && read.offset < item.end);
  const text = {
    of: (start, end) => read.text.slice(at(start), at(end)),
    // A piece with its marked parts; `shown` draws each part.
    pieces: (start, end, shown = withCode) => {
      const parts = [];
      let drawn = at(start);
      const last = at(end);
      for (const item of near) {
        const from = Math.max(drawn, shift(item.start)), to = Math.min(last, shift(item.end));
        if (from >= to) continue;
        parts.push(shown(read.text.slice(drawn, from)), html`<mark class=${`evidence ${item === span ? "current" : ""}`}>${shown(read.text.slice(from, to))}</mark>`);
        drawn = to;
      }
      return [...parts, shown(read.text.slice(drawn, last))];
    },
    touched: (start, end) => near.some((item) => item.start < read.offset + end && read.offset + start < item.end),
  };
  const blocks = read.blocks.length ? read.blocks
    : [{ kind: "paragraph", start: 0, end: Array.from(read.text).length, level: 0, label: "", places: [] }];
  const shown = [];
  let page = null, chunk = -1;
  const drawn = new Set();
  for (const group of grouped(blocks)) {
    const [first] = group;
    const here = first.places[0]?.page;
    if (here && here !== page) {
      page = here;
      shown.push(html`<p class="page-mark" key=${`p${page}-${first.start}`}>${t("Page {page}", { page })}</p>`);
    }
    if (chunks) {
      const starting = read.chunks.findIndex((later, index) => index > chunk && later.start <= first.start + read.offset
        && first.start + read.offset < later.end);
      if (starting > chunk) {
        chunk = starting;
        const passage = read.chunks[chunk];
        shown.push(html`<p class="chunk-mark" key=${passage.chunk_id}>${t("Passage {number}", { number: chunk + 1 })}
          <span> · ${passage.kind} · ${passage.language} · ${t("{count} characters", { count: number(passage.end - passage.start) })}</span></p>`);
      }
    }
    const pictures = group.flatMap((block) => block.pictures || []).filter((id) => !drawn.has(id) && drawn.add(id));
    if (pictures.length) {
      shown.push(html`<${Pictures} key=${`f${first.start}`} collection=${collection} document=${read.document.id} ids=${pictures}
        caption=${first.kind === "caption" ? text.of(first.start, first.end) : ""} />`);
    }
    shown.push(html`<${Block} key=${first.start} group=${group} text=${text} />`);
  }
  return shown;
}

// Inline code stands between backticks in every text that was read, whatever its file was.
function withCode(text) {
  return text.split(/`([^`\n]+)`/).map((part, index) => (index % 2 ? html`<code>${part}</code>` : part));
}

// Items of one list, and rows of one table, stand together.
function grouped(blocks) {
  const groups = [];
  for (const block of blocks) {
    const last = groups[groups.length - 1];
    const same = last && last[0].kind === block.kind && last[0].label === block.label;
    const list = last && last[0].kind === "item" && block.kind === "item";
    if (list || (same && block.kind === "table")) last.push(block);
    else groups.push([block]);
  }
  return groups;
}

function Block({ group, text }) {
  const [block] = group;
  const inside = () => text.pieces(block.start, block.end);
  switch (block.kind) {
    case "heading": {
      const level = Math.min(6, Math.max(1, block.level) + 2);
      return html`<${`h${level}`}>${inside()}</${`h${level}`}>`;
    }
    case "item":
      return html`<ul class="items">${group.map((item) => html`<li key=${item.start}
        class=${`level-${Math.min(5, Math.max(1, item.level))}`}>${text.pieces(item.start, item.end)}</li>`)}</ul>`;
    case "table": return html`<${Table} group=${group} text=${text} />`;
    case "code": return html`<pre tabindex="0"><code>${text.pieces(block.start, block.end, (said) => said)}</code></pre>`;
    case "quote": return html`<blockquote>${inside()}</blockquote>`;
    case "caption": return html`<p class="caption">${inside()}</p>`;
    case "admonition": return html`<div class="callout">${inside()}</div>`;
    case "header": return html`<p class="header">${inside()}</p>`;
    default: return html`<p class="text">${inside()}</p>`;
  }
}

// Rows are "name; column: value; column: value". What is not like that stands as it is.
function Table({ group, text }) {
  const rows = group.flatMap((block) => rowsOf(block, text.of(block.start, block.end)));
  const columns = [...new Set(rows.flatMap((row) => row.map((cell) => cell.column)))];
  const label = group[0].label;
  if (columns.length < 2 || columns.length > 40) {
    return html`<div class="scroll" tabindex="0">${group.map((block) => html`<p class="text rows">${text.pieces(block.start, block.end)}</p>`)}</div>`;
  }
  return html`<div class="scroll" tabindex="0"><table>${label && html`<caption>${label}</caption>`}
    <thead><tr>${columns.map((column) => (column ? html`<th scope="col">${column}</th>` : html`<td></td>`))}</tr></thead>
    <tbody>${rows.map((row) => html`<tr class=${row.some((cell) => text.touched(cell.start, cell.end)) ? "touched" : ""}>
      ${columns.map((column) => {
        const cell = row.find((block) => block.column === column);
        return html`<td>${cell && text.pieces(cell.start, cell.end)}</td>`;
      })}</tr>`)}</tbody></table></div>`;
}

function rowsOf(block, content) {
  let start = block.start;
  return content.split("\n").map((line) => {
    const cells = [];
    let place = start;
    for (const part of line.split("; ")) {
      const length = Array.from(part).length;
      const named = /^([^:;]{1,80}): /.exec(part);
      const skipped = named ? Array.from(named[0]).length : 0;
      cells.push({ column: named ? named[1] : "", start: place + skipped, end: place + length });
      place += length + 2;
    }
    start += Array.from(line).length + 1;
    return cells;
  }).filter((row) => row.some((cell) => cell.end > cell.start));
}
