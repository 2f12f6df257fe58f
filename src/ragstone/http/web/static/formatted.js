// An answer with its form: what reads Markdown is large, and comes after the page is there.
import { html, useEffect, useState } from "./lib.js";

let Loaded = null;
let loading = null;

export function loadMarkdown() {
  loading ??= import("./markdown.js").then((found) => { Loaded = found.Markdown; }, () => { loading = null; });
  return loading;
}

export function Markdown(props) {
  const [Drawn, set] = useState(() => Loaded);
  useEffect(() => { if (!Drawn) loadMarkdown().then(() => set(() => Loaded)); }, []);
  return Drawn ? html`<${Drawn} ...${props} />` : html`<div class="markdown" dir="auto">${props.text}</div>`;
}
