// What every part of the page stands on: markup, what is known of the page, and small tools.
import { h, Fragment } from "./vendor/preact.js";
import { useEffect, useState } from "./vendor/hooks.js";
import htm from "./vendor/htm.js";

export { Fragment, render } from "./vendor/preact.js";
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/hooks.js";
export const html = htm.bind(h);

// What the whole page knows. `session` is null until the server has said who asks. `signsIn` is true, or why not, where
// a key is asked for.
export const page = { session: null, signsIn: false, route: [], notice: null, side: false, panel: null };
const watchers = new Set();

export function update(changes) {
  Object.assign(page, changes);
  changed();
}

// Draw again what reads data that changed in place; many changes of one frame are drawn once.
let waiting = false;
export function changed() {
  if (waiting) return;
  waiting = true;
  const draw = () => {
    if (!waiting) return;
    waiting = false;
    watchers.forEach((watch) => watch());
  };
  // A page in the background gets no frames.
  if (document.hidden) setTimeout(draw, 50);
  else requestAnimationFrame(draw);
}

export function usePage() {
  const [, again] = useState(0);
  useEffect(() => {
    const watch = () => again((count) => count + 1);
    watchers.add(watch);
    return () => watchers.delete(watch);
  }, []);
  return page;
}

// A value that a promise brings: {value, error, busy, reload}.
export function useLoaded(load, keys) {
  const [state, set] = useState({ busy: true });
  const [count, again] = useState(0);
  useEffect(() => {
    let here = true;
    set((old) => ({ ...old, busy: true }));
    load().then(
      (value) => here && set({ value, busy: false }),
      (error) => here && set({ error, busy: false }),
    );
    return () => { here = false; };
  }, [...keys, count]);
  return { ...state, reload: () => again((count) => count + 1) };
}

export function notify(text, kind = "info") {
  const notice = { text, kind };
  update({ notice });
  setTimeout(() => page.notice === notice && update({ notice: null }), 6000);
}

export function go(...parts) {
  location.hash = "#/" + parts.map(encodeURIComponent).join("/");
}

export function route() {
  return location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map((part) => {
    try { return decodeURIComponent(part); } catch { return part; }
  });
}

// crypto.randomUUID is only where the address is secure, which http://server.lan is not.
export function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0")).join("");
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = Object.assign(document.createElement("textarea"), { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

export function save(name, text, type = "text/plain") {
  const url = URL.createObjectURL(new Blob([text], { type }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export function remembered(name, fallback) {
  try { return JSON.parse(localStorage.getItem(`ragstone.${name}`)) ?? fallback; }
  catch { return fallback; }
}

export function remember(name, value) {
  try { localStorage.setItem(`ragstone.${name}`, JSON.stringify(value)); }
  catch { /* Private windows may refuse: then it holds as long as the page. */ }
}

// The server counts characters (code points), JavaScript halves of some of them.
export function places(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (place) => place;
  const map = [0];
  for (const character of text) map.push(map[map.length - 1] + character.length);
  return (place) => map[Math.max(0, Math.min(place, map.length - 1))];
}

export { Fragment as Parts };
