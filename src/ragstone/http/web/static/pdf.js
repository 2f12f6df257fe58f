// A page of a PDF file as it looks, with the places that support an answer marked on it.
import { html, useEffect, useRef, useState } from "./lib.js";
import { call } from "./api.js";
import { Busy, Button } from "./ui.js";
import { number, sentence, t } from "./words.js";
import { getDocument, GlobalWorkerOptions, PDFDataRangeTransport } from "./vendor/pdf.js";

GlobalWorkerOptions.workerSrc = "/web/vendor/pdf.worker.js";
const PART = 1_000_000; // Bytes that are fetched at a time: pages that nobody looks at are not.

async function part(collection, path, offset, limit) {
  const found = await call("reading.original", { collection, path, offset, limit });
  return { total: found.total, bytes: Uint8Array.from(atob(found.base64), (one) => one.charCodeAt(0)) };
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

// `boxes` ({page, left, top, right, bottom}, in points from the left and top edge) are marked.
export function PdfPage({ collection, path, page, boxes, onMissing }) {
  const [pdf, setPdf] = useState(null);
  const [at, setAt] = useState(page || 1);
  const [size, setSize] = useState(null);
  const canvas = useRef(null), box = useRef(null);
  useEffect(() => {
    let task = null, gone = false;
    open(collection, path, onMissing).then((started) => {
      task = started;
      if (gone) return task.destroy();
      return task.promise.then((found) => !gone && setPdf(found));
    }).catch((error) => !gone && onMissing(error));
    return () => { gone = true; task?.destroy(); };
  }, [collection, path]);
  useEffect(() => { setAt(page || 1); }, [page]);
  useEffect(() => {
    if (!pdf) return undefined;
    let drawing = null, gone = false;
    (async () => {
      const found = await pdf.getPage(Math.min(Math.max(1, at), pdf.numPages));
      const plain = found.getViewport({ scale: 1 });
      const scale = Math.min(2.5, Math.max(0.3, box.current.clientWidth / plain.width));
      const sharp = found.getViewport({ scale: scale * Math.min(2, devicePixelRatio || 1) });
      if (gone) return;
      Object.assign(canvas.current, { width: sharp.width, height: sharp.height });
      drawing = found.render({ canvas: canvas.current, canvasContext: canvas.current.getContext("2d"), viewport: sharp });
      await drawing.promise;
      if (!gone) setSize({ width: plain.width, height: plain.height, at });
    })().catch((error) => { if (!gone && error.name !== "RenderingCancelledException") onMissing(error); });
    return () => { gone = true; drawing?.cancel(); };
  }, [pdf, at]);
  useEffect(() => { box.current?.querySelector(".box")?.scrollIntoView({ block: "center" }); }, [size, boxes]);
  const shown = size && size.at === at ? boxes.filter((one) => one.page === at) : [];
  return html`<div class="pdf" ref=${box}>
    ${pdf ? html`<div class="row pager"><${Button} label=${t("Previous page")} disabled=${at <= 1} onClick=${() => setAt(at - 1)} />
      <span role="status">${t("Page {page} of {pages}", { page: number(at), pages: number(pdf.numPages) })}</span>
      <${Button} label=${t("Next page")} disabled=${at >= pdf.numPages} onClick=${() => setAt(at + 1)} /></div>` : html`<${Busy} label=${t("Opening the document…")} />`}
    <div class="paper" dir="ltr"><canvas ref=${canvas} role="img" aria-label=${t("Page {page}", { page: at })}></canvas>
      ${size && html`<svg class="boxes" viewBox=${`0 0 ${size.width} ${size.height}`} aria-hidden="true">${shown.map((one, index) => html`<rect key=${index} class="box"
        x=${one.left} y=${one.top} width=${one.right - one.left} height=${one.bottom - one.top} />`)}</svg>`}</div></div>`;
}
