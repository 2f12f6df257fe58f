// The entity graph: what documents name, what is named together, and the themes of that.
import { html, go, page, useEffect, useLoaded, useState } from "./lib.js";
import { call } from "./api.js";
import { Busy, Button, Choice, Failure, Icon } from "./ui.js";
import { number, t } from "./words.js";
import { talk } from "./ask.js";

const SHOWN = 50; // Of each kind.
const DRAWN = 14; // Names round the middle one.
const WIDTH = 720, HEIGHT = 380;

export default function GraphPage() {
  const [, named, entity = ""] = page.route;
  const collections = useLoaded(() => call("collections"), [page.ingested]);
  const names = (collections.value || []).map((collection) => collection.collection.name);
  if (!names.length) names.push("default");
  const current = names.includes(named) ? named : names.includes(talk.collection) ? talk.collection : names[0];
  const found = useLoaded(() => call("graph.show", { collection: current, entity, limit: SHOWN }), [current, entity, page.ingested]);
  if (collections.error) return html`<div class="sheet"><${Failure} error=${collections.error} again=${collections.reload} /></div>`;
  const unknown = found.error && !found.busy;
  return html`<div class="sheet graph"><div class="row spread"><h1>${t("Graph")}</h1>
      <${Choice} label=${t("Collection")} value=${current} options=${names.map((name) => [name, name])} onChange=${(name) => go("graph", name)} /></div>
    <${Finder} key=${current} collection=${current} entity=${entity} />
    ${unknown && found.error.code === "unknown_entity" ? html`<p role="status">${t("No document that you may read names this.")}</p>` : unknown && html`<${Failure} error=${found.error} again=${found.reload} />`}
    ${found.busy && !found.value && html`<${Busy} />`}
    ${found.value && !unknown && html`<${View} collection=${current} view=${found.value} />`}</div>`;
}

// A name is looked up as it is typed, among those that are named most, and by itself on Enter.
function Finder({ collection, entity }) {
  const [wanted, setWanted] = useState(entity);
  useEffect(() => setWanted(entity), [entity]);
  const sent = (event) => { event.preventDefault(); go("graph", collection, ...(wanted.trim() ? [wanted.trim().slice(0, 200)] : [])); };
  return html`<form class="finder row" onSubmit=${sent}><label class="search grow"><${Icon} name="search" /><span class="unseen">${t("Look up a name")}</span>
      <input type="search" dir="auto" maxlength="200" value=${wanted} placeholder=${t("Look up a name")} onInput=${(event) => setWanted(event.target.value)} /></label>
    <button class="button primary">${t("Look up")}</button>
    ${entity && html`<${Button} icon="close" label=${t("All names")} onClick=${() => go("graph", collection)} />`}</form>`;
}

function View({ collection, view }) {
  const { entity, named, waiting, spellings, places, relations, themes } = view;
  return html`${waiting > 0 && html`<div class="callout"><div>${t("{count} documents have not been read for the graph yet. The setting rag.knowledge_graph_enabled switches it on.", { count: number(waiting) })}</div></div>`}
    ${entity && html`<h2 class="entity" dir="auto">${entity}</h2>`}
    ${spellings.length > 0 && html`<p class="dim" dir="auto">${t("Also: {names}", { names: spellings.join(", ") })}</p>`}
    ${entity && named.length > 0 && html`<${Drawing} collection=${collection} entity=${entity} named=${named} relations=${relations} />`}
    <div class="beside"><section class="card"><h2>${entity ? t("Named with it") : t("Named most")}</h2>
      ${!named.length && html`<p class="dim">${t("Nothing is named.")}</p>`}
      <ul class="names">${named.map((entity) => html`<li key=${entity.entity}><a dir="auto" href=${link(collection, entity.name)}>${entity.name}</a> <span class="dim">${number(entity.chunks)}</span></li>`)}</ul></section>
      ${relations.length > 0 && html`<section class="card"><h2>${t("Relations")}</h2><ul class="told">${relations.map((relation) => html`<li key=${`${relation.chunk_id} ${relation.entity} ${relation.said} ${relation.other}`} dir="auto">
        <a href=${link(collection, relation.entity)}>${relation.entity}</a> ${relation.said} <a href=${link(collection, relation.other)}>${relation.other}</a> <${Place} collection=${collection} place=${relation} /></li>`)}</ul></section>`}</div>
    ${places.length > 0 && html`<section><h2>${t("Passages")}</h2><ol class="sources">${unique(places).map((place) => html`<li key=${place.chunk_id}><a class="passage" href=${passage(collection, place)}>
      <span><strong dir="auto">${place.title || place.path}</strong> <span class="where">${place.page ? t("Page {page}", { page: place.page }) : ""}</span><span class="found" dir="auto">${lit(place.text, place.name)}</span></span></a></li>`)}</ol></section>`}
    ${themes.length > 0 && html`<section><h2>${t("Themes")}</h2><div class="themes">${themes.map((theme) => html`<${Theme} key=${theme.id} collection=${collection} theme=${theme} />`)}</div></section>`}`;
}

function Theme({ collection, theme }) {
  return html`<details class="card theme"><summary><strong dir="auto">${theme.title}</strong> <span class="dim">${t("{count} passages", { count: number(theme.passages) })}</span></summary>
    ${theme.summary && html`<p dir="auto">${theme.summary}</p><p class="dim">${theme.by ? t("Summed up by {model}", { model: theme.by }) : t("Sentences of the documents")}</p>`}
    <p class="names">${theme.entities.map((entity) => html`<a key=${entity.entity} dir="auto" href=${link(collection, entity.name)}>${entity.name}</a> `)}</p>
    <ul class="told">${theme.places.map((place) => html`<li key=${place.chunk_id}><${Place} collection=${collection} place=${place} /> <span class="dim" dir="auto">${place.text}</span></li>`)}</ul></details>`;
}

function Place({ collection, place }) {
  return html`<a class="where" dir="auto" href=${passage(collection, place)}>${place.title || place.path}${place.page ? `, ${t("Page {page}", { page: place.page })}` : ""}</a>`;
}

// What is named with a name, round it; the wider a line, the more passages. The lists below say the
// same to those who do not see it, use no mouse, or have a phone, on which it would be too small.
function Drawing({ collection, entity, named, relations }) {
  const some = named.slice(0, DRAWN);
  const most = Math.max(...some.map((neighbour) => neighbour.chunks));
  const told = new Set(relations.flatMap((relation) => [relation.entity, relation.other]));
  const at = some.map((neighbour, index) => {
    const angle = (2 * Math.PI * index) / some.length - Math.PI / 2;
    return { neighbour, x: WIDTH / 2 + Math.cos(angle) * WIDTH * 0.36, y: HEIGHT / 2 + Math.sin(angle) * HEIGHT * 0.41 };
  });
  return html`<svg class="drawing" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${t("What is named with {name}", { name: entity })}>
    ${at.map(({ neighbour, x, y }) => html`<line key=${neighbour.entity} x1=${WIDTH / 2} y1=${HEIGHT / 2} x2=${x} y2=${y} class=${told.has(neighbour.name) ? "told" : ""} stroke-width=${most > 1 ? 1 + (4 * neighbour.chunks) / most : 1.5} />`)}
    ${at.map(({ neighbour, x, y }) => html`<g key=${neighbour.entity} class="node" onClick=${() => go("graph", collection, neighbour.name)}><title>${neighbour.name}</title><text x=${x} y=${y + (y < HEIGHT / 2 ? -12 : 22)} text-anchor="middle">${short(neighbour.name)}</text><circle cx=${x} cy=${y} r="7" /></g>`)}
    <text class="middle" x=${WIDTH / 2} y=${HEIGHT / 2 - 16} text-anchor="middle">${short(entity)}</text><circle class="middle" cx=${WIDTH / 2} cy=${HEIGHT / 2} r="11" /></svg>`;
}

const short = (name) => { const letters = Array.from(name); return letters.length > 22 ? `${letters.slice(0, 21).join("")}…` : name; };
const link = (collection, name) => `#/graph/${encodeURIComponent(collection)}/${encodeURIComponent(name.slice(0, 200))}`;
const passage = (collection, place) => `#/documents/${encodeURIComponent(collection)}/${encodeURIComponent(place.document_id)}/${place.start}-${place.end}${place.page ? `/page=${place.page}` : ""}`;
const unique = (places) => [...new Map(places.map((place) => [place.chunk_id, place])).values()];

function lit(text, name) {
  const place = text.toLowerCase().indexOf(name.toLowerCase());
  if (place < 0) return text;
  return [text.slice(0, place), html`<mark>${text.slice(place, place + name.length)}</mark>`, text.slice(place + name.length)];
}
