// Icons, buttons, fields, dialogs: what all pages are made of.
import { html, notify, page, update, useEffect, useRef, useState } from "./lib.js";
import { sentence, t } from "./words.js";

const ICONS = {
  ask: "M4 5h16v11H9l-5 4z",
  documents: "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",
  graph: "M12 13a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM5 6.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM19 7.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM7 20.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM6 6l4.5 3.7M17.7 7l-4 2.8M8 17.8l2.8-5",
  why: "M4 19V9M10 19V5M16 19v-7M21 19H3",
  evaluate: "M4 5l2 2 3-3M4 12l2 2 3-3M4 19l2 2 3-3M12 6h8M12 13h8M12 20h8",
  admin: "M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM12 3v3M12 18v3M3 12h3M18 12h3M5.6 5.6l2.1 2.1M16.3 16.3l2.1 2.1M18.4 5.6l-2.1 2.1M7.7 16.3l-2.1 2.1",
  plus: "M12 5v14M5 12h14",
  send: "M5 12h13M12 5l7 7-7 7",
  stop: "M7 7h10v10H7z",
  latest: "M12 5v14M6 13l6 6 6-6",
  before: "M14 6l-6 6 6 6",
  after: "M10 6l6 6-6 6",
  minus: "M5 12h14",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  again: "M20 11a8 8 0 1 0-2.3 6.3M20 4v7h-7",
  up: "M7 11v9H4v-9zM7 11l4-8c2 0 3 1 2.5 3L13 9h6l-1.5 9-1.5 2H7",
  down: "M17 13V4h3v9zM17 13l-4 8c-2 0-3-1-2.5-3l.5-3H5l1.5-9L8 4h9",
  close: "M6 6l12 12M18 6 6 18",
  menu: "M4 7h16M4 12h16M4 17h16",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  edit: "M4 20h4L19 9l-4-4L4 16z",
  save: "M12 4v11M7 10l5 5 5-5M5 20h14",
  choices: "M4 7h9M17 7h3M13 5v4M4 17h3M11 17h9M9 15v4",
  clip: "M20 11l-8.5 8.5a5 5 0 0 1-7-7L13 4a3.3 3.3 0 0 1 4.7 4.7l-8.3 8.3a1.7 1.7 0 0 1-2.4-2.4L14.5 7",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5",
  check: "M5 13l4 4L19 7",
  warn: "M12 4 2.5 20h19zM12 10v4M12 17v.5",
  print: "M7 8V4h10v4M6 17H4V9h16v8h-2M7 14h10v6H7z",
  upload: "M12 16V5M7 10l5-5 5 5M5 20h14",
  notes: "M6 3h12v18l-6-4-6 4z",
  share: "M18 8a3 3 0 1 0-3-3 3 3 0 0 0 3 3zM6 15a3 3 0 1 0-3-3 3 3 0 0 0 3 3zM18 22a3 3 0 1 0-3-3 3 3 0 0 0 3 3zM8.5 10.5l7-4M8.5 13.5l7 4",
  theme: "M20 14A8 8 0 1 1 10 4a7 7 0 0 0 10 10z",
  out: "M10 4H5v16h5M14 8l4 4-4 4M18 12H9",
  key: "M8 15a4 4 0 1 1 3.5-6H21v3h-2v3h-3v-3h-4.5A4 4 0 0 1 8 15z",
};

export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${ICONS[name]} /></svg>`;
}

// A button with an icon; its words are shown, or only said with `quiet`.
export function Button({ icon, label, quiet, kind = "", ...rest }) {
  const shown = quiet ? null : html`<span>${label}</span>`;
  return html`<button type="button" class=${`button ${kind} ${quiet ? "quiet" : ""}`}
    aria-label=${quiet ? label : null} title=${icon ? label : null} ...${rest}>
    ${icon && html`<${Icon} name=${icon} />`}${shown}</button>`;
}

export function Choice({ label, value, options, onChange, hidden }) {
  return html`<label class="field"><span class=${hidden ? "unseen" : ""}>${label}</span>
    <select value=${value} aria-label=${hidden ? label : null} onChange=${(event) => onChange(event.target.value)}>
      ${options.map(([key, name]) => html`<option value=${key} selected=${key === value}>${name}</option>`)}
    </select></label>`;
}

export function Failure({ error, again }) {
  return html`<div class="callout bad" role="alert"><${Icon} name="warn" />
    <div><p>${sentence(error)}</p>
    ${again && html`<${Button} icon="again" label=${t("Try again")} onClick=${again} />`}</div></div>`;
}

export function Busy({ label }) {
  return html`<p class="busy" role="status"><span class="spinner"></span>${label || t("Loading…")}</p>`;
}

export function Bar({ share }) {
  return html`<progress max="1" value=${share ?? null} aria-label=${t("Progress")}></progress>`;
}

// What a dialog asks; a promise of the text typed, of true, or of null.
export function ask({ title, text, field, value = "", confirm, danger }) {
  return new Promise((resolve) => update({ dialog: { title, text, field, value, confirm, danger, resolve } }));
}

export function Dialog({ dialog }) {
  const box = useRef(null);
  const [value, set] = useState(dialog.value);
  useEffect(() => { box.current.showModal(); }, []);
  const end = (result) => { update({ dialog: null }); dialog.resolve(result); };
  const sent = (event) => { event.preventDefault(); end(dialog.field ? value : true); };
  return html`<dialog ref=${box} aria-labelledby="dialog-title" onCancel=${() => end(null)}>
    <form onSubmit=${sent}><h2 id="dialog-title">${dialog.title}</h2>
    ${dialog.text && html`<p>${dialog.text}</p>`}
    ${dialog.field && html`<label class="field"><span>${dialog.field}</span>
      <input autofocus value=${value} onInput=${(event) => set(event.target.value)} /></label>`}
    <div class="row end">
      <${Button} label=${t("Cancel")} onClick=${() => end(null)} />
      <button class=${`button ${dialog.danger ? "danger" : "primary"}`}>${dialog.confirm}</button>
    </div></form></dialog>`;
}

export function Notice() {
  return html`<div class="notices" role="status" aria-live="polite">
    ${page.notice && html`<p class=${`notice ${page.notice.kind}`}>${page.notice.text}</p>`}</div>`;
}

export function Tabs({ label, tabs, current, onChange }) {
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const way = document.documentElement.dir === "rtl" ? -step : step;
    const at = tabs.findIndex(([key]) => key === current);
    const next = (at + way + tabs.length) % tabs.length;
    onChange(tabs[next][0]);
    event.currentTarget.children[next].focus();
  };
  const row = useRef(null);
  // On a phone they are wider than the page: the chosen one is to be seen.
  useEffect(() => {
    const chosen = row.current.querySelector("[aria-selected=true]");
    if (chosen && row.current.scrollWidth > row.current.clientWidth) chosen.scrollIntoView({ block: "nearest", inline: "center" });
  }, [current]);
  return html`<div class="tabs" role="tablist" ref=${row} aria-label=${label} onKeyDown=${move}>
    ${tabs.map(([key, name]) => html`<button type="button" role="tab" key=${key} class="tab"
      aria-selected=${String(key === current)} tabindex=${key === current ? 0 : -1}
      onClick=${() => onChange(key)}>${name}</button>`)}</div>`;
}

// Do something on the server; what fails is said at the bottom of the page.
export async function tried(work, after) {
  try {
    const result = await work();
    await after?.(result);
    return true;
  } catch (error) {
    notify(sentence(error), "bad");
    return false;
  }
}
