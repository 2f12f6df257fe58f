// A PDF file as it looks, with the words that support an answer marked on its pages.
import { html, render, useEffect, useRef, useState } from "./lib.js";
import { call } from "./api.js";
import { FindField } from "./find.js";
import { Busy, Button } from "./ui.js";
import { number, t } from "./words.js";
import { AnnotationMode, getDocument, GlobalWorkerOptions, PDFDataRangeTransport } from "./vendor/pdf.js";
import { EventBus, FindState, PDFFindController, PDFLinkService, PDFViewer } from "./vendor/pdf.viewer.js";

GlobalWorkerOptions.workerSrc = "/web/vendor/pdf.worker.js";
const PART = 1_000_000; // Bytes that are fetched at a time: pages that nobody looks at are not.
const MAX_PIXELS = 2 ** 24; // Of a page: further in, only the part on the screen is drawn sharp.
// The viewer's own texts: it says none here, what a page is called is set when it is drawn.
const SILENT = { pause() {}, resume() {}, translate: async () => {}, get: async () => "" };

async function part(collection, path, offset, limit) {
  const found = await call("reading.original", { collection, path, offset, limit });
  return { total: found.total, bytes: Uint8Array.from(atob(found.base64), (sign) => sign.charCodeAt(0)) };
}

class Transport extends PDFDataRangeTransport {
  constructor(length, first, collection, path, failed) {
    super(length, first);
    Object.assign(this, { collection, path, failed });
  }

  async requestDataRange(begin, end) {
    try {
      for (let at = begin; at < end; at += PART) {
        const found = await part(this.collection, this.path, at, Math.min(PART, end - at));
        this.onDataRange(at, found.bytes);
      }
    } catch (error) { this.failed(error); }
  }
}

async function open(collection, path, failed) {
  const first = await part(collection, path, 0, PART);
  const options = { isEvalSupported: false, useWasm: false, enableXfa: false, useWorkerFetch: false };
  if (first.total <= PART) return getDocument({ data: first.bytes, ...options });
  const range = new Transport(first.total, first.bytes, collection, path, failed);
  return getDocument({ range, rangeChunkSize: PART, disableAutoFetch: true, disableStream: true, ...options });
}

// `marks` lists the places that support the answer, each as lines {page, left, top, right, bottom, text}, in points from
// the left and top edge; `text` is what is marked of a line that is not marked whole. `current` is the mark to look at.
export function PdfPages({ collection, path, page, marks, current, onMissing }) {
  const [view, setView] = useState(null);
  const [at, setAt] = useState(page || 1);
  const [matches, setMatches] = useState(null);
  const [strip, setStrip] = useState(false);
  const paper = useRef(null), state = useRef({ seen: 0 });
  Object.assign(state.current, { marks, current });
  useEffect(() => {
    const stop = new AbortController();
    let task = null;
    const begin = async () => {
      task = await open(collection, path, onMissing);
      const pdf = await task.promise;
      if (stop.signal.aborted) return;
      const eventBus = new EventBus();
      const linkService = new PDFLinkService({ eventBus });
      linkService.externalLinkEnabled = false; // A document does not lead readers to other sites.
      const findController = new PDFFindController({ eventBus, linkService });
      const viewer = new PDFViewer({ container: paper.current, eventBus, linkService, findController, l10n: SILENT, abortSignal: stop.signal,
        annotationMode: AnnotationMode.ENABLE, enableAutoLinking: false, maxCanvasPixels: MAX_PIXELS });
      linkService.setViewer(viewer);
      const draw = ({ pageNumber }) => {
        const drawn = viewer.getPageView(pageNumber - 1);
        drawn.div.setAttribute("aria-label", t("Page {page}", { page: number(pageNumber) }));
        drawMarks(drawn, state.current);
      };
      eventBus.on("pagesinit", () => {
        viewer.currentScaleValue = "page-width";
        viewer.currentPageNumber = Math.min(firstPage(state.current) || page || 1, pdf.numPages);
      });
      eventBus.on("pagechanging", ({ pageNumber }) => setAt(pageNumber));
      eventBus.on("pagerendered", draw);
      eventBus.on("textlayerrendered", draw);
      eventBus.on("updatefindmatchescount", ({ matchesCount }) => setMatches({ ...matchesCount, pending: true }));
      eventBus.on("updatefindcontrolstate", ({ state: found, matchesCount }) => setMatches({ ...matchesCount, pending: found !== FindState.NOT_FOUND }));
      viewer.setDocument(pdf);
      linkService.setDocument(pdf);
      const resized = new ResizeObserver(() => { if (viewer.currentScaleValue === "page-width") viewer.currentScaleValue = "page-width"; });
      resized.observe(paper.current);
      stop.signal.addEventListener("abort", () => { resized.disconnect(); viewer.cleanup(); });
      setView({ pdf, viewer, eventBus });
    };
    begin().catch((error) => !stop.signal.aborted && onMissing(error));
    return () => { stop.abort(); task?.destroy(); };
  }, [collection, path]);
  useEffect(() => {
    if (!view?.viewer.pagesCount) return;
    state.current.seen = 0;
    const target = firstPage(state.current);
    if (target && target !== view.viewer.currentPageNumber) view.viewer.currentPageNumber = target;
    for (const drawn of view.viewer.getCachedPageViews()) drawMarks(drawn, state.current);
  }, [view, marks, current]);
  const find = (query, step) => view.eventBus.dispatch("find", { type: step ? "again" : "", query, caseSensitive: false, entireWord: false,
    highlightAll: true, findPrevious: step < 0, matchDiacritics: false });
  const turn = (event) => {
    const wanted = Number(event.target.value);
    if (Number.isInteger(wanted) && wanted >= 1 && wanted <= view.pdf.numPages) view.viewer.currentPageNumber = wanted;
    else event.target.value = at;
  };
  const fit = () => { view.viewer.currentScaleValue = "page-width"; };
  return html`<div class="pdf">
    ${view ? html`<div class="row pager" key="tools" role="toolbar" aria-label=${t("Pages")}>
      <${Button} icon="menu" quiet label=${t("Small pictures of the pages")} aria-pressed=${String(strip)} onClick=${() => setStrip(!strip)} />
      <${Button} icon="before" quiet label=${t("Previous page")} disabled=${at <= 1} onClick=${() => view.viewer.previousPage()} />
      <${Button} icon="after" quiet label=${t("Next page")} disabled=${at >= view.pdf.numPages} onClick=${() => view.viewer.nextPage()} />
      <label class="page-field"><span class="unseen">${t("Page")}</span><input inputmode="numeric" size="4" value=${at} onChange=${turn} /></label>
      <span role="status">${t("Page {page} of {pages}", { page: number(at), pages: number(view.pdf.numPages) })}</span>
      <${Button} icon="minus" quiet label=${t("Zoom out")} onClick=${() => view.viewer.decreaseScale()} />
      <${Button} icon="plus" quiet label=${t("Zoom in")} onClick=${() => view.viewer.increaseScale()} />
      <${Button} label=${t("Fit width")} onClick=${fit} />
      <${FindField} matches=${matches} onFind=${find} onEnd=${() => { setMatches(null); view.eventBus.dispatch("findbarclose", {}); }} /></div>`
      : html`<${Busy} label=${t("Opening the document…")} />`}
    <div class="sheets" key="sheets">${strip && view && html`<${Thumbnails} pdf=${view.pdf} at=${at} onChoose=${(chosen) => { view.viewer.currentPageNumber = chosen; }} />`}
      <div class="paper" key="paper" dir="ltr"><div class="pages" ref=${paper} tabindex="0" role="group" aria-label=${t("Original")}><div class="pdfViewer"></div></div></div></div></div>`;
}

const firstPage = ({ marks, current }) => marks[current]?.[0]?.page;

// Draw the marks of a page over it. The mark to look at is scrolled to when it is first drawn.
function drawMarks(drawn, state) {
  drawn.div.querySelector(".boxes")?.remove();
  const lines = state.marks.flatMap((mark, index) => mark.filter((line) => line.page === drawn.id).map((line) => ({ line, index })));
  if (!lines.length) return;
  const { width, height } = drawn.pdfPage.getViewport({ scale: 1 });
  const boxes = lines.map(({ line, index }) => ({ ...(cutToWords(drawn, line, width, height) || line), current: index === state.current }));
  const layer = Object.assign(document.createElement("div"), { className: "boxes" });
  render(html`<svg viewBox=${`0 0 ${width} ${height}`} aria-hidden="true">${boxes.map((box, index) => html`<rect key=${index}
    class=${`box ${box.current ? "current" : ""}`} x=${box.left} y=${box.top} width=${box.right - box.left} height=${box.bottom - box.top} />`)}</svg>`, layer);
  drawn.div.append(layer);
  const first = layer.querySelector(".current");
  // Once by its lines, and once more when its words are known; never after the reader may have gone on.
  const known = drawn.textLayer ? 2 : 1;
  if (first && known > state.seen && drawn.id === firstPage(state)) {
    state.seen = known;
    first.scrollIntoView({ block: "center" });
  }
}

// Spaces, hyphens at the ends of lines and the forms of letters are not the same in what was read and in what is drawn.
const bare = (text) => text.normalize("NFKC").toLowerCase().replace(/[\s\u00ad\u2010-]/gu, "");

// The part of a line that is marked, by the words that the page draws there; null where they are others than were read.
function cutToWords(drawn, line, width, height) {
  const layer = drawn.textLayer?.div, wanted = line.text && bare(line.text);
  if (!layer || !wanted) return null;
  const paper = drawn.div.getBoundingClientRect();
  const scale = { x: width / drawn.div.clientWidth, y: height / drawn.div.clientHeight };
  const letters = [];
  const walker = document.createTreeWalker(layer, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const place = node.parentElement.getBoundingClientRect();
    const middle = ((place.top + place.bottom) / 2 - paper.top) * scale.y;
    if (middle < line.top || middle > line.bottom) continue;
    // By halves of characters, as the place that is looked for below counts them.
    Array.from(node.data).reduce((offset, letter) => {
      for (const same of bare(letter).split("")) letters.push({ same, node, start: offset, end: offset + letter.length });
      return offset + letter.length;
    }, 0);
  }
  const found = letters.map(({ same }) => same).join("").indexOf(wanted);
  if (found < 0) return null;
  const range = document.createRange();
  const first = letters[found], last = letters[found + wanted.length - 1];
  range.setStart(first.node, first.start);
  range.setEnd(last.node, last.end);
  const { left, right } = range.getBoundingClientRect();
  return { ...line, left: (left - paper.left) * scale.x, right: (right - paper.left) * scale.x };
}

const ROW = 168; // Pixels of a small picture with its number.

// Small pictures of the pages: of thousands, only those on the screen and a few around them are in the page.
function Thumbnails({ pdf, at, onChoose }) {
  const box = useRef(null);
  const [{ first, shown }, setPart] = useState({ first: 0, shown: 0 });
  const look = () => {
    const { scrollTop, clientHeight } = box.current;
    const from = Math.max(0, Math.floor(scrollTop / ROW) - 2);
    setPart({ first: from, shown: Math.min(pdf.numPages - from, Math.ceil(clientHeight / ROW) + 5) });
  };
  useEffect(() => {
    const { scrollTop, clientHeight } = box.current, top = (at - 1) * ROW;
    if (top < scrollTop || top + ROW > scrollTop + clientHeight) box.current.scrollTop = top - (clientHeight - ROW) / 2;
    look();
  }, [at]);
  return html`<div class="strip" ref=${box} onScroll=${look}><ol aria-label=${t("Small pictures of the pages")}
    style=${{ paddingTop: `${first * ROW}px`, paddingBottom: `${(pdf.numPages - first - shown) * ROW}px` }}>
    ${Array.from({ length: shown }, (_, index) => first + index + 1).map((page) => html`<${Thumbnail} key=${page} pdf=${pdf} page=${page} current=${page === at} onChoose=${onChoose} />`)}</ol></div>`;
}

function Thumbnail({ pdf, page, current, onChoose }) {
  const canvas = useRef(null);
  const draw = async () => {
    const drawn = await pdf.getPage(page);
    const viewport = drawn.getViewport({ scale: 120 / drawn.getViewport({ scale: 1 }).width });
    if (!canvas.current) return;
    Object.assign(canvas.current, { width: viewport.width, height: viewport.height });
    await drawn.render({ canvas: canvas.current, viewport }).promise;
  };
  useEffect(() => {
    const timer = setTimeout(draw, 100); // Not those that are only scrolled past.
    return () => clearTimeout(timer);
  }, []);
  return html`<li aria-setsize=${pdf.numPages} aria-posinset=${page} style=${{ height: `${ROW}px` }}>
    <button type="button" aria-label=${t("Page {page}", { page: number(page) })} aria-current=${String(current)} onClick=${() => onChoose(page)}>
      <canvas ref=${canvas} width="0"></canvas><span aria-hidden="true">${number(page)}</span></button></li>`;
}
