// The documents: adding them, finding them, looking into them.
import { html, changed, go, notify, page, update, useEffect, useLoaded, useRef, useState } from "./lib.js";
import { call, may, principal, stream } from "./api.js";
import { add, chosen, clear, counts, dropped, pause, queue, retry } from "./adding.js";
import { DocumentView } from "./document.js";
import { FolderPath } from "./folders.js";
import { AddSamples, RemoveSamples, useSamples } from "./samples.js";
import { DocumentReaders, readerNames, setFolderReaders, wantedReaders } from "./readers.js";
import { ask as askUser, Bar, Busy, Button, Choice, Failure, Icon, Tabs } from "./ui.js";
import { duration, legible, number, reasonFor, sentence, size, t, when } from "./words.js";
import { askAbout, brief, talk } from "./ask.js";

// What people call the type of a file: its ending.
const kindOf = ({ path }) => /\.(\w{1,8})$/.exec(path)?.[1].toUpperCase();

const STATES = { writing: "Being read", text: "Searchable by words", ready: "Searchable", failed: "Failed" };
const SHOWN = 200; // Rows that are drawn at a time.
const LISTED = 1000; // Documents that are asked for at a time.

export default function DocumentsPage() {
  const [, collection, document] = page.route;
  if (collection && document) return html`<${OneDocument} key=${document} collection=${collection} id=${document} />`;
  return html`<${Overview} named=${collection} />`;
}

function Overview({ named }) {
  const collections = useLoaded(() => call("collections"), [page.ingested]);
  const [fresh, setFresh] = useState([]);
  const names = [...new Set([...(collections.value || []).map((collection) => collection.collection.name), ...fresh])];
  if (!names.length) names.push("default");
  const current = names.includes(named) ? named : names.includes(talk.collection) ? talk.collection : names[0];
  const summary = (collections.value || []).find((collection) => collection.collection.name === current);
  const samples = useSamples(summary?.documents > 0 && current);
  const create = async () => {
    const name = await askUser({ title: t("New collection"), text: t("A collection is a set of documents that is searched separately."), field: t("Name"), confirm: t("Create") });
    if (name?.trim()) { setFresh([...fresh, name.trim()]); go("documents", name.trim()); }
  };
  const rebuild = async () => {
    const sure = await askUser({ title: t("Reindex this collection?"), text: t("With the configured embedding model; the old index answers until the new one is complete."), confirm: t("Reindex") });
    if (!sure) return;
    try {
      for await (const progress of stream("rebuild", { collection: current })) { queue.progress = progress; changed(); }
      notify(t("The collection was reindexed."));
    } catch (error) { notify(sentence(error), "bad"); }
    queue.progress = null;
    update({ ingested: (page.ingested || 0) + 1 });
  };
  if (collections.error) return html`<div class="sheet"><${Failure} error=${collections.error} again=${collections.reload} /></div>`;
  return html`<div class="sheet"><div class="row spread"><h1>${t("Documents")}</h1>
      <div class="row low"><${Choice} label=${t("Collection")} value=${current} options=${names.map((name) => [name, name])} onChange=${(name) => go("documents", name)} />
      ${may("ingest") && html`<${Button} icon="plus" label=${t("New collection")} onClick=${create} />`}
      ${may("readers.set_folder") && html`<${Button} icon="key" label=${t("Who can read it")} onClick=${() => setFolderReaders(current)} />`}
      <${RemoveSamples} collection=${current} paths=${samples} />
      ${summary && may("rebuild") && html`<${Button} icon="again" label=${t("Reindex")} onClick=${rebuild} />`}</div></div>
    ${summary && html`<p class="dim">${[t("{count} documents", { count: number(summary.documents) }), t("{count} passages", { count: number(summary.chunks) }), summary.collection.model].join(" · ")}
      ${summary.pending > 0 && html` · ${t("{count} passages still being indexed", { count: number(summary.pending) })}`}</p>`}
    ${summary?.note && html`<div class="callout"><div>${summary.note}</div></div>`}
    ${may("ingest") && html`<${Drop} collection=${current} empty=${collections.value && !summary?.documents} />`}
    ${(queue.files.length > 0 || queue.progress) && html`<${Queue} />`}
    <${Search} collection=${current} empty=${!summary?.documents} />
    ${collections.value ? html`<${List} key=${current} collection=${current} summary=${summary} />` : html`<${Busy} />`}
  </div>`;
}

function Drop({ collection, empty }) {
  const [over, setOver] = useState(false);
  const [readers, setReaders] = useState("");
  const [folderName, setFolderName] = useState("");
  const [tags, setTags] = useState("");
  const [skipCopies, setSkipCopies] = useState(false);
  const files = useRef(null), folder = useRef(null);
  const named = tags.split(",").map((tag) => tag.trim()).filter(Boolean);
  const send = (given) => add(given, collection, { folder: folderName, skipCopies, ...(readers.trim() ? { allowed: readerNames(readers) } : {}), ...(named.length ? { metadata: { tags: named } } : {}) });
  const take = async (event) => {
    event.preventDefault();
    setOver(false);
    send(await dropped(event.dataTransfer));
  };
  const pick = (event) => { send(chosen(event.target.files)); event.target.value = ""; };
  return html`<section class=${`drop ${over ? "over" : ""}`} aria-label=${t("Add documents")} onDragOver=${(event) => { event.preventDefault(); setOver(true); }}
    onDragLeave=${() => setOver(false)} onDrop=${take}>
    <${Icon} name="upload" /><p>${t("Drop files or folders here, or choose them.")}</p>
    <div class="row"><${Button} kind="primary" label=${t("Choose files")} onClick=${() => files.current.click()} />
      <${Button} label=${t("Choose a folder")} onClick=${() => folder.current.click()} />
      ${empty && html`<${AddSamples} collection=${collection} />`}</div>
    <details class="more"><summary>${t("Folder, tags and who can read it")}</summary>
    <label class="readers">${t("Into the folder")}
      <input type="text" dir="auto" maxlength="1000" value=${folderName} placeholder=${t("none")} onInput=${(event) => setFolderName(event.target.value)} /></label>
    <label class="readers">${t("Tags, separated by commas")}
      <input type="text" dir="auto" maxlength="1000" value=${tags} onInput=${(event) => setTags(event.target.value)} /></label>
    <label class="readers">${t("Who can read it")}
      <input type="text" list="readers" maxlength="1000" value=${readers} placeholder=${t("As folder and collection say")} onInput=${(event) => setReaders(event.target.value)} /></label>
    <datalist id="readers">${["everyone", `user:${principal().user}`, ...principal().groups.map((name) => `group:${name}`)].map((name) => html`<option value=${name} />`)}</datalist>
    <p class="hint">${t("Groups and people by their names, such as {example}", { example: "group:hr, user:ada" })}</p>
    <label class="row"><input type="checkbox" checked=${skipCopies} onChange=${(event) => setSkipCopies(event.target.checked)} /><span>${t("Pass over copies of documents that are there")}</span></label></details>
    <p class="hint formats">PDF, Word, Excel, PowerPoint, HTML, Markdown, CSV, EPUB, ${t("mails, source code and more")}</p>
    <input type="file" multiple hidden id="files" ref=${files} onChange=${pick} aria-label=${t("Choose files")} />
    <input type="file" webkitdirectory hidden id="folder" ref=${folder} onChange=${pick} aria-label=${t("Choose a folder")} /></section>`;
}

const FILE_STATES = { waiting: "Waiting", sending: "Sending", sent: "Sent", reading: "Being read", done: "Done", failed: "Failed", skipped: "Skipped" };

function Queue() {
  const found = counts();
  const failed = queue.files.filter((file) => file.state === "failed");
  const left = queue.files.filter((file) => !["done", "failed", "skipped"].includes(file.state));
  const order = { failed: 0, sending: 1, reading: 2, sent: 3, waiting: 4, skipped: 5, done: 6 };
  const shown = [...queue.files].sort((a, b) => order[a.state] - order[b.state]).slice(0, 100);
  const progress = queue.progress;
  return html`<section class="queue card" aria-label=${t("Files being added")}>
    <div class="row spread"><h2 role="status">${left.length && queue.paused ? t("Paused: {number} files wait", { number: number(found.waiting) }) : left.length ? t("Adding {left} of {total} files", { left: number(left.length), total: number(queue.files.length) })
      : t("{done} added, {failed} failed, {skipped} skipped", { done: number(found.done), failed: number(found.failed), skipped: number(found.skipped) })}</h2>
      <div class="row">${left.length > 0 && html`<${Button} icon=${queue.paused ? "send" : "stop"} label=${queue.paused ? t("Resume") : t("Pause")} onClick=${() => pause(!queue.paused)} />`}
      ${failed.length > 0 && html`<${Button} icon="again" label=${t("Try the failed ones again")} onClick=${() => again(failed)} />`}
      ${!left.length && html`<${Button} icon="close" label=${t("Clear the list")} onClick=${clear} />`}</div></div>
    ${progress && html`<p class="dim">${phase(progress)}</p><${Bar} share=${share(progress)} />`}
    <ul>${shown.map((file) => html`<li key=${file.collection + file.path} class=${file.state}>
      <span class="name" dir="auto">${legible(file.path.slice(1))}</span>
      <span class="state">${t(FILE_STATES[file.state])}${file.state === "sending" ? ` ${Math.round(file.share * 100)} %` : ""}</span>
      ${file.reason && html`<span class="reason" dir="auto">${reasonFor(file.path, file.reason)}</span>`}
      ${file.state === "failed" && html`<${Button} icon="again" label=${t("Try again")} onClick=${() => again([file])} />`}</li>`)}</ul>
    ${queue.files.length > shown.length && html`<p class="hint">${t("and {count} more", { count: number(queue.files.length - shown.length) })}</p>`}
  </section>`;
}

// Files that were for some readers only are tried again for those, or for others that are named now.
async function again(items) {
  const rest = items.filter((item) => !item.allowed);
  const readers = new Map();
  for (const limited of items.filter((item) => item.allowed)) readers.set(limited.allowed.join(", "), [...(readers.get(limited.allowed.join(", ")) || []), limited]);
  for (const [names, some] of readers) {
    const allowed = await wantedReaders(some.length > 1 ? t("{count} files", { count: number(some.length) }) : some[0].path, names.split(", "));
    if (allowed) rest.push(...some.map((item) => Object.assign(item, { allowed: allowed.length ? allowed : undefined })));
  }
  if (rest.length) retry(rest);
}

function share(progress) {
  if (!progress.total) return null;
  const vectors = progress.chunks + progress.waiting;
  return Math.min(1, progress.files / progress.total) * (vectors ? Math.min(1, progress.embedded / vectors) : 1);
}

function phase(progress) {
  const names = { reading: t("Reading"), embedding: t("Computing embeddings"), building: t("Building the index"), done: t("Done") };
  const rate = progress.seconds > 1 ? t("{rate} passages per second", { rate: number(progress.embedded / progress.seconds, 1) }) : "";
  const eta = progress.eta ? t("{time} left", { time: duration(progress.eta) }) : "";
  const read = t("{files} of {total} files read, {embedded} of {chunks} passages searchable by meaning", {
    files: number(progress.files), total: progress.total === null ? "?" : number(progress.total),
    embedded: number(Math.min(progress.embedded, progress.chunks)), chunks: number(progress.chunks) }); // A long document has more until it is read.
  return [names[progress.phase], read, rate, eta].filter(Boolean).join(" · ");
}

function Search({ collection, empty }) {
  const [wanted, setWanted] = useState("");
  const [state, setState] = useState({});
  useEffect(() => {
    if (wanted.trim().length < 2) { setState({}); return undefined; }
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      setState((old) => ({ ...old, busy: true }));
      try {
        const ask = { question: wanted, collection, principal: principal(), keeps: false, top_k: 10 };
        const found = await call("search", { ask }, stop.signal);
        setState({ found });
      } catch (error) { if (error.name !== "AbortError") setState({ error }); }
    }, 250);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [wanted, collection]);
  if (empty) return null;
  const words = wanted.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) || [];
  return html`<section class="finder" aria-label=${t("Search")}><label class="search"><${Icon} name="search" /><span class="unseen">${t("Search these documents")}</span>
      <input type="search" dir="auto" value=${wanted} placeholder=${t("Search these documents")} onInput=${(event) => setWanted(event.target.value)} /></label>
    ${state.error && html`<${Failure} error=${state.error} />`}
    ${state.found && html`<p class="dim" role="status">${t("{count} passages", { count: state.found.hits.length })}${state.found.corrected ? ` · ${state.found.corrected}` : ""}</p>
      <ol class="sources">${state.found.hits.map(({ chunk, similarity }) => html`<li key=${chunk.chunk_id}>
        <a class="passage" href=${`#/documents/${encodeURIComponent(collection)}/${encodeURIComponent(chunk.document_id)}/${chunk.start}-${chunk.end}`}>
          <span><strong dir="auto">${chunk.title || chunk.path}</strong> <span class="where">${[chunk.page && t("Page {page}", { page: chunk.page }), chunk.section.at(-1)].filter(Boolean).join(" · ")}</span>
          <span class="found" dir="auto">${lit(excerpt(chunk, words), words)}</span></span></a></li>`)}</ol>`}</section>`;
}

// The part of a passage where the words stand, from the beginning of a word on, without the heading that stands above it.
function excerpt(chunk, words) {
  const heading = chunk.section.at(-1) || "";
  const text = heading && chunk.text.startsWith(`${heading}\n`) ? chunk.text.slice(heading.length).trimStart() : chunk.text;
  const low = text.toLowerCase();
  const first = Math.min(...words.map((word) => low.indexOf(word)).filter((place) => place >= 0), text.length);
  const before = first === text.length ? 0 : Math.max(0, first - 80);
  const space = before ? text.slice(before, first).search(/\s/) : -1;
  const start = before + space + 1;
  return (start ? "…" : "") + text.slice(start, start + 360) + (start + 360 < text.length ? "…" : "");
}

function lit(text, words) {
  if (!words.length) return text;
  const pattern = new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "giu");
  return text.split(pattern).map((part, index) => (index % 2 ? html`<mark>${part}</mark>` : part));
}

function List({ collection, summary }) {
  const [wanted, setWanted] = useState("");
  const [only, setOnly] = useState("all");
  const [shown, setShown] = useState(SHOWN);
  const [limit, setLimit] = useState(LISTED);
  const [picked, setPicked] = useState(new Set());
  const [folder, setFolder] = useState("");
  const [having, setHaving] = useState({});
  const found = useLoaded(async () => (summary ? listed(collection, { below: folder, having }, limit) : []),
    [collection, page.ingested, Boolean(summary), limit, folder, JSON.stringify(having)]);
  if (found.error) return html`<${Failure} error=${found.error} again=${found.reload} />`;
  if (!found.value) return html`<${Busy} />`;
  const all = found.value;
  const narrowed = folder || Object.keys(having).length > 0;
  if (!all.length && found.busy && !narrowed) return html`<${Busy} />`;
  if (!all.length && !narrowed) return html`<p class="dim">${t("There are no documents in this collection yet.")}</p>`;
  const low = wanted.toLowerCase();
  const some = all.filter((document) => (only === "all" || document.status === only) && `${document.title} ${document.path}`.toLowerCase().includes(low));
  const pick = (path, on) => { const next = new Set(picked); if (on) next.add(path); else next.delete(path); setPicked(next); };
  const remove = async () => {
    const sure = await askUser({ title: t("Delete {count} documents?", { count: picked.size }), text: [...picked].slice(0, 5).join(", "), confirm: t("Delete"), danger: true });
    if (!sure) return;
    try {
      await call("delete", { collection, paths: [...picked] });
      setPicked(new Set());
      update({ ingested: (page.ingested || 0) + 1 });
    } catch (error) { notify(sentence(error), "bad"); }
  };
  const restrict = async () => {
    if (!picked.size) { await setFolderReaders(collection, folder); return; }
    const readers = await wantedReaders(t("{count} documents", { count: number(picked.size) }), []);
    if (!readers) return;
    try {
      await call("readers.give", { collection, readers, paths: [...picked] });
      setPicked(new Set());
      update({ ingested: (page.ingested || 0) + 1 });
    } catch (error) { notify(sentence(error), "bad"); }
  };
  return html`<section class="all" aria-labelledby="all-documents">
    <div class="row spread"><h2 id="all-documents">${t("All documents")}</h2><div class="row filters">
      <label class="search"><${Icon} name="choices" /><span class="unseen">${t("Filter by title or path")}</span><input type="search" value=${wanted} placeholder=${t("Filter by title or path")}
        onInput=${(event) => setWanted(event.target.value)} /></label>
      <${Choice} hidden label=${t("State")} value=${only} options=${[["all", t("All states")], ...Object.entries(STATES).map(([key, name]) => [key, t(name)])]} onChange=${setOnly} /></div></div>
    <${FolderPath} collection=${collection} value=${folder} onChange=${setFolder} />
    <div class="row chosen">
      ${picked.size > 0 && html`<${Button} icon="ask" kind="primary" label=${t("Ask about {count}", { count: number(picked.size) })} onClick=${() => askAbout(collection, [...picked])} />
      <${Button} icon="documents" label=${t("Brief me")} onClick=${() => brief(collection, [...picked])} />`}
      ${may("readers.give") && (picked.size > 0 || folder) && html`<${Button} icon="key" label=${t("Who can read it")} onClick=${restrict} />`}
      ${may("delete") && picked.size > 0 && html`<${Button} icon="trash" kind="danger" label=${t("Delete {count}", { count: picked.size })} onClick=${remove} />`}</div>
    <${MetadataFilter} collection=${collection} having=${having} onChange=${setHaving} />
    ${!all.length && html`<p class="dim" role="status">${t("No documents match.")}</p>`}
    <div class="scroll" tabindex="0"><table class="list"><thead><tr><td></td><th scope="col">${t("Document")}</th><th scope="col">${t("State")}</th>
      <th scope="col">${t("Passages")}</th><th scope="col">${t("Pages")}</th><th scope="col">${t("Size")}</th><th scope="col">${t("Changed")}</th></tr></thead>
    <tbody>${some.slice(0, shown).map((document) => html`<tr key=${document.id}>
      <td><input type="checkbox" aria-label=${t("Choose {title}", { title: document.title || document.path })} checked=${picked.has(document.path)} onChange=${(event) => pick(document.path, event.target.checked)} /></td>
      <td class="wide"><a dir="auto" href=${`#/documents/${encodeURIComponent(collection)}/${encodeURIComponent(document.id)}`}>${legible(document.title || document.path)}</a><span class="path" dir="auto">${legible(document.path)}</span>
        ${document.error && html`<span class="bad" dir="auto">${reasonFor(document.path, document.error)}</span>`}</td>
      <td><span class=${`badge ${{ ready: "high", failed: "low" }[document.status] || "medium"}`}>${t(STATES[document.status])}</span></td>
      <td class="figure">${number(document.chunks)}</td><td class="figure">${document.pages ? number(document.pages) : ""}</td><td class="figure">${size(document.size)}</td><td class="figure">${document.modified ? when(document.modified) : ""}</td></tr>`)}</tbody></table></div>
    ${some.length > shown && html`<${Button} label=${t("Show more")} onClick=${() => setShown(shown + SHOWN)} />`}
    ${all.length >= limit && html`<${Button} label=${t("Load more documents")} onClick=${() => setLimit(limit + LISTED)} />`}</section>`;
}

const MOST_VALUES = 50; // Of a key, to choose from.

// What is known of the documents besides their text: one value of each key can be asked for.
function MetadataFilter({ collection, having, onChange }) {
  const found = useLoaded(() => call("reading.facets", { collection, limit: MOST_VALUES }), [collection, page.ingested]);
  const facets = (found.value || []).filter((facet) => facet.values.some((value) => value.documents > 1) || facet.key in having);
  if (!facets.length) return null;
  const set = (key) => (value) => {
    const { [key]: _, ...rest } = having;
    onChange(value ? { ...rest, [key]: JSON.parse(value) } : rest);
  };
  return html`<details class="metadata" open=${Object.keys(having).length > 0}><summary>${t("Filter by metadata")}</summary>
    <div class="row">${facets.map((facet) => html`<${Choice} key=${facet.key} label=${facet.key} value=${facet.key in having ? JSON.stringify(having[facet.key]) : ""} onChange=${set(facet.key)}
      options=${[["", t("Any")], ...facet.values.map(({ value, documents }) => [JSON.stringify(value), `${value} (${number(documents)})`])]} />`)}</div></details>`;
}

async function listed(collection, narrowed, limit) {
  const found = [];
  while (found.length < limit) {
    const some = await call("documents", { collection, ...narrowed, limit: LISTED, after: found.length ? found.at(-1).path : "" });
    found.push(...some);
    if (some.length < LISTED) break;
  }
  return found;
}

function OneDocument({ collection, id }) {
  const [view, setView] = useState("text");
  const about = useLoaded(() => call("reading.read", { collection, path: id, offset: 0, limit: 1 }), [collection, id, page.ingested]);
  const input = useRef(null);
  if (about.error) return html`<div class="sheet"><${Failure} error=${about.error} again=${() => go("documents", collection)} /></div>`;
  if (!about.value) return html`<div class="sheet"><${Busy} /></div>`;
  const { document, total } = about.value;
  const remove = async () => {
    const sure = await askUser({ title: t("Delete this document?"), text: document.path, confirm: t("Delete"), danger: true });
    if (!sure) return;
    try { await call("delete", { collection, paths: [document.path] }); go("documents", collection); }
    catch (error) { notify(sentence(error), "bad"); }
  };
  const replace = (event) => {
    const [file] = event.target.files;
    if (file) { add([{ file, path: document.path }], collection); go("documents", collection); }
  };
  const [from, to] = (page.route[3] || "").split("-").map(Number);
  const spans = to > from ? [{ start: from, end: to }] : [];
  const at = Number(/^page=(\d+)$/.exec(page.route[4] || "")?.[1]) || undefined;
  return html`<div class="sheet"><p><a href=${`#/documents/${encodeURIComponent(collection)}`}>${collection}</a></p>
    <div class="row spread"><h1 dir="auto">${legible(document.title || document.path)}</h1>
      <div class="row"><${Button} icon="ask" kind="primary" label=${t("Ask about this document")} onClick=${() => askAbout(collection, [document.path])} />
      <${Button} icon="documents" label=${t("Brief me")} onClick=${() => brief(collection, [document.path])} />
      ${may("ingest") && html`<${Button} icon="upload" label=${t("Replace")} onClick=${() => input.current.click()} /><input type="file" hidden ref=${input} onChange=${replace} aria-label=${t("Replace")} />`}
      ${may("delete") && html`<${Button} icon="trash" label=${t("Delete")} onClick=${remove} />`}</div></div>
    <p class="dim" dir="auto">${[legible(document.path), kindOf(document), size(document.size), document.pages && t("{count} pages", { count: number(document.pages) }), t("{count} passages", { count: number(document.chunks) }), t("{count} characters", { count: number(total) })].filter(Boolean).join(" · ")}</p>
    ${document.error && html`<div class="callout bad"><${Icon} name="warn" /><div dir="auto">${reasonFor(document.path, document.error)}</div></div>`}
    <${Tabs} label=${t("Views of the document")} current=${view} onChange=${setView} tabs=${[["text", t("Document")], ["metadata", t("Metadata")], ["readers", t("Who can read it")]]} />
    <div class="card">${view === "metadata" ? html`<${Metadata} document=${document} />`
      : view === "readers" ? html`<${DocumentReaders} collection=${collection} id=${id} />`
      : html`<${DocumentView} collection=${collection} path=${id} spans=${spans} page=${at} />`}</div></div>`;
}

function Metadata({ document }) {
  const rows = [[t("Title"), document.title], [t("Path"), document.path], [t("Type"), kindOf(document)], [t("State"), t(STATES[document.status])],
    [t("Who can read it"), document.allowed.map((reader) => (reader === "*" ? t("Everyone") : reader)).join(", ")], [t("Version"), document.version], [t("From"), document.source],
    ...Object.entries(document.metadata || {})];
  return html`<div class="scroll" tabindex="0"><table><tbody>${rows.filter(([, value]) => value !== "" && value !== null).map(([name, value]) => html`<tr key=${name}>
    <th scope="row" dir="auto">${name}</th><td dir="auto">${typeof value === "object" ? JSON.stringify(value) : String(value)}</td></tr>`)}</tbody></table></div>`;
}
