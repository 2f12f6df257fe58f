// A document as it was read: its blocks in order, with what supports an answer marked.
import { html, places, useLayoutEffect, useLoaded, useRef, useState } from "./lib.js";
import { call, may } from "./api.js";
import { Pictures } from "./pictures.js";
import { Busy, Button, Failure } from "./ui.js";
import { number, sentence, t } from "./words.js";

const WINDOW = 40_000; // Characters that are read at a time.

// Who may not read whole documents sees the `passage` and what stands around it.
export function DocumentView({ collection, path, span, page, passage }) {
  return may("reading.read") ? html`<${WholeDocument} collection=${collection} path=${path} span=${span} page=${page} />`
    : html`<${PassageText} collection=${collection} passage=${passage} span=${span} />`;
}

function PassageText({ collection, passage, span }) {
  const read = useLoaded(() => call("reading.passage", { collection, passage }), [collection, passage]);
  const box = useShownMark(read.value, span);
  if (read.error) return html`<${Failure} error=${read.error} again=${read.reload} />`;
  if (!read.value) return html`<${Busy} label=${t("Opening the document…")} />`;
  return html`<div ref=${box} class="document" dir="auto"><${Blocks} read=${read.value} span=${span} collection=${collection} /></div>`;
}

// The element in which the mark is scrolled to, once it is drawn.
function useShownMark(drawn, span) {
  const box = useRef(null);
  useLayoutEffect(() => {
    box.current?.querySelector("mark.evidence")?.scrollIntoView({ block: "center" });
  }, [drawn, span?.start, span?.end]);
  return box;
}

// A PDF file is shown as it looks, if the server still has it; everything else, and that on demand,
// as its text. `page` is where to begin.
function WholeDocument({ collection, path, span, page }) {
  const start = span ? Math.max(0, span.start - 2000) : 0;
  const about = useLoaded(
    () => call("reading.read", { collection, path, offset: start, limit: span ? span.end - start + 2000 : 2000 }),
    [collection, path, span?.start, span?.end],
  );
  const drawn = useLoaded(() => (may("reading.original") ? import("./pdf.js") : Promise.resolve(null)), []);
  const [plain, setPlain] = useState(false);
  const [missing, setMissing] = useState(null);
  if (about.error) return html`<${Failure} error=${about.error} again=${about.reload} />`;
  if (!about.value) return html`<${Busy} label=${t("Opening the document…")} />`;
  const isPdf = about.value.document.media_type === "application/pdf";
  if (!isPdf || drawn.error) return html`<${DocumentText} collection=${collection} path=${path} span=${span} />`;
  const boxes = span ? boxesOf(about.value, span) : [];
  return html`<div class="row views" role="group" aria-label=${t("Views of the document")}>
      <button type="button" class="button small" aria-pressed=${String(!plain && !missing)} disabled=${Boolean(missing)} onClick=${() => setPlain(false)}>${t("Original")}</button>
      <button type="button" class="button small" aria-pressed=${String(plain || Boolean(missing))} onClick=${() => setPlain(true)}>${t("Extracted text")}</button></div>
    ${missing && html`<p class="note">${sentence(missing)}</p>`}
    ${plain || missing ? html`<${DocumentText} collection=${collection} path=${path} span=${span} />`
      : drawn.value ? html`<${drawn.value.PdfPage} collection=${collection} path=${path} page=${boxes[0]?.page || page} boxes=${boxes} onMissing=${setMissing} />` : html`<${Busy} />`}`;
}

// Where the span stands on its pages: the lines that it touches.
function boxesOf(read, span) {
  const first = span.start - read.offset, last = span.end - read.offset;
  return read.blocks.flatMap((block) => block.places.filter((place, index) => {
    const end = block.places[index + 1]?.start ?? block.end;
    return place.box && place.start < last && first < end;
  }).map((place) => ({ page: place.page, ...place.box })));
}

// `span` ({start, end}) is marked; `chunks` shows where the passages of the index begin and end.
export function DocumentText({ collection, path, span, chunks }) {
  const start = span ? Math.max(0, span.start - WINDOW / 3) : 0;
  const [range, setRange] = useState({ offset: Math.floor(start), limit: WINDOW });
  const read = useLoaded(
    () => call("reading.read", { collection, path, offset: range.offset, limit: range.limit }),
    [collection, path, range.offset, range.limit],
  );
  const box = useShownMark(read.value, span);
  if (read.error) return html`<${Failure} error=${read.error} again=${read.reload} />`;
  if (!read.value) return html`<${Busy} label=${t("Opening the document…")} />`;
  const found = read.value;
  const end = found.offset + Array.from(found.text).length;
  const earlier = () => {
    const offset = Math.max(0, range.offset - WINDOW);
    setRange({ offset, limit: range.limit + range.offset - offset });
  };
  return html`<div ref=${box} class="document" dir="auto">
    ${found.offset > 0 && html`<${Button} label=${t("Show what comes before")} onClick=${earlier} />`}
    <${Blocks} read=${found} span=${span} chunks=${chunks} collection=${collection} />
    ${end < found.total && html`<${Button} label=${t("Show {count} more characters", { count: number(found.total - end) })}
      onClick=${() => setRange({ ...range, limit: range.limit + WINDOW })} />`}
  </div>`;
}

function Blocks({ read, span, chunks, collection }) {
  const at = places(read.text);
  const shift = (place) => at(place - read.offset);
  const text = {
    of: (start, end) => read.text.slice(at(start), at(end)),
    // The marked part of a piece, as [before, marked, after]; `shown` draws each.
    pieces: (start, end, shown = withCode) => {
      const first = at(start), last = at(end);
      const from = span ? Math.max(first, shift(span.start)) : last;
      const to = span ? Math.min(last, shift(span.end)) : last;
      if (!span || from >= to) return shown(read.text.slice(first, last));
      return [shown(read.text.slice(first, from)), html`<mark class="evidence">${shown(read.text.slice(from, to))}</mark>`,
        shown(read.text.slice(to, last))];
    },
    touched: (start, end) => span && span.start < read.offset + end && read.offset + start < span.end,
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
      const starting = read.chunks.findIndex((one, index) => index > chunk && one.start <= first.start + read.offset
        && first.start + read.offset < one.end);
      if (starting > chunk) {
        chunk = starting;
        const one = read.chunks[chunk];
        shown.push(html`<p class="chunk-mark" key=${one.chunk_id}>${t("Passage {number}", { number: chunk + 1 })}
          <span> · ${one.kind} · ${one.language} · ${t("{count} characters", { count: number(one.end - one.start) })}</span></p>`);
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
      return html`<ul class="items">${group.map((one) => html`<li key=${one.start}
        class=${`level-${Math.min(5, Math.max(1, one.level))}`}>${text.pieces(one.start, one.end)}</li>`)}</ul>`;
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
    return html`<div class="scroll" tabindex="0">${group.map((one) => html`<p class="text rows">${text.pieces(one.start, one.end)}</p>`)}</div>`;
  }
  return html`<div class="scroll" tabindex="0"><table>${label && html`<caption>${label}</caption>`}
    <thead><tr>${columns.map((one) => html`<th scope="col">${one}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr class=${row.some((cell) => text.touched(cell.start, cell.end)) ? "touched" : ""}>
      ${columns.map((column) => {
        const cell = row.find((one) => one.column === column);
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
