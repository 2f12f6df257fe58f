// Files on their way into a collection: sent, read, searchable, or why not.
import { changed, page, update } from "./lib.js";
import { call, principal, stream, upload } from "./api.js";
import { sentence, t } from "./words.js";

const AT_ONCE = 3; // Files that are sent at the same time.
const PART = 50; // Files of one job: those of a first part are searchable while a second one is sent.
const LIST_MS = 2000; // How often the lists of documents follow a job: a long file hides no finished one.

// Every file that was given in this tab. `state`: waiting, sending, reading, done, failed, skipped.
// While it is `paused`, nothing further is sent; what is on the server is still read.
export const queue = { files: [], progress: null, running: false, paused: false, started: 0 };

export function counts() {
  const found = { waiting: 0, sending: 0, sent: 0, reading: 0, done: 0, failed: 0, skipped: 0 };
  for (const file of queue.files) found[file.state] += 1;
  return found;
}

// Take files with their paths. `endings` are those that this server reads.
// `more` are further fields of the files: who may read them (`allowed`), their `metadata`, the `folder` they go into,
// and whether copies of other documents are passed over (`skipCopies`).
export function add(given, collection, { folder: into = "", ...more } = {}) {
  const place = into.split("/").map((part) => part.trim()).filter((part) => part && part !== "." && part !== "..").map((part) => `${part}/`).join("");
  for (const { file, path } of given) {
    const hidden = path.split("/").some((part) => part.startsWith("."));
    const item = { file, path: `/${place}${path.replace(/^\/+/, "")}`, collection, state: "waiting", share: 0, reason: "", ...more };
    if (hidden) Object.assign(item, { state: "skipped", reason: t("Hidden file.") });
    else if (!file.size) Object.assign(item, { state: "skipped", reason: t("Empty file.") });
    const twice = queue.files.find((file) => file.path === item.path && file.collection === collection && !["done", "failed", "skipped"].includes(file.state));
    if (!twice) queue.files.push(item);
  }
  changed();
  run();
}

export function retry(items) {
  for (const item of items) Object.assign(item, { state: "waiting", share: 0, reason: "" });
  changed();
  run();
}

export function pause(paused) {
  queue.paused = paused;
  changed();
  if (!paused) run();
}

export function clear() {
  queue.files = queue.files.filter((file) => !["done", "failed", "skipped"].includes(file.state));
  changed();
}

async function run() {
  if (queue.running || queue.paused) return;
  queue.running = true;
  queue.started = performance.now();
  try {
    for (;;) {
      const waiting = queue.paused ? [] : queue.files.filter((file) => file.state === "waiting");
      if (!waiting.length) break;
      const some = waiting.filter((file) => file.collection === waiting[0].collection && file.skipCopies === waiting[0].skipCopies).slice(0, PART);
      await send(some);
      const sent = some.filter((file) => file.state === "sent");
      if (sent.length) await ingest(sent, some[0].collection);
    }
  } finally {
    queue.running = false;
    queue.progress = null;
    listAgain();
  }
}

async function send(items) {
  const rest = [...items];
  const sendRest = async () => {
    for (let item = rest.shift(); item && !queue.paused; item = rest.shift()) {
      item.state = "sending";
      changed();
      try {
        item.handle = await upload(item.file, (share) => { item.share = share; changed(); });
        item.state = "sent";
      } catch (error) {
        const wrong = error.code === "wrong_type" || error.status === 415;
        Object.assign(item, { state: wrong ? "skipped" : "failed", reason: sentence(error) });
      }
      changed();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sendRest));
}

async function ingest(items, collection) {
  for (const item of items) item.state = "reading";
  const handed = items.map((item) => ({ file: item.handle, path: item.path, source: `upload:${item.path}`,
    modified: item.file.lastModified / 1000, ...(item.allowed ? { allowed: item.allowed } : {}), ...(item.metadata ? { metadata: item.metadata } : {}) }));
  let [listed, known] = [performance.now(), 0];
  try {
    for await (const progress of stream("ingest", { request: { collection, tenant: principal().tenant, handed, skip_copies: Boolean(items[0].skipCopies) } })) {
      queue.progress = progress;
      for (const { path, original, skipped } of progress.copies) {
        const item = items.find((item) => path === item.path);
        if (item) Object.assign(item, { reason: t("It has the same content as {path}.", { path: original }), ...(skipped ? { state: "skipped" } : {}) });
      }
      for (const { path, reason } of progress.failed) {
        const item = items.find((item) => path === item.path || path.endsWith(item.path));
        if (item) Object.assign(item, { state: "failed", reason });
        // A file in an archive: the others of it are there.
        const archive = items.find((item) => path.includes(`${item.path}/`));
        if (archive) Object.assign(archive, { state: "failed", reason: `${path.split(`${archive.path}/`)[1]}: ${reason}` });
      }
      if (progress.error) throw new Error(progress.error);
      changed();
      if (progress.indexed > known && performance.now() - listed > LIST_MS) {
        [listed, known] = [performance.now(), progress.indexed];
        listAgain();
      }
    }
    for (const item of items) if (item.state === "reading") item.state = "done";
  } catch (error) {
    for (const item of items) if (item.state === "reading") Object.assign(item, { state: "failed", reason: sentence(error) });
  }
  listAgain();
}

function listAgain() {
  update({ ingested: (page.ingested || 0) + 1 });
}

// The files of a drop, folders read to their ends.
export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({ file, path: file.name }));
  return (await Promise.all(entries.map(walk))).flat();
}

async function walk(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ file, path: entry.fullPath.replace(/^\//, "") }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) break;
    found.push(...await Promise.all(some.map(walk)));
  }
  return found.flat();
}

export function chosen(list) {
  return [...list].map((file) => ({ file, path: file.webkitRelativePath || file.name }));
}
