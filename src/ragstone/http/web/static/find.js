// The field that finds words in an open document, and goes from one match to the next.
import { html, useState } from "./lib.js";
import { Button } from "./ui.js";
import { number, t } from "./words.js";

// `matches` is {current, total, pending}, null where nothing was looked for, `pending` while more may be found. `onFind(words, step)` looks: step is 0 for new words,
// else 1 or -1; `onEnd` takes the marks of the matches away.
export function FindField({ matches, onFind, onEnd }) {
  const [words, setWords] = useState("");
  const [asked, setAsked] = useState("");
  const go = (step) => {
    if (!words.trim()) return;
    onFind(words, words === asked ? step : 0);
    setAsked(words);
  };
  const typed = (event) => {
    setWords(event.target.value);
    if (!event.target.value) { setAsked(""); onEnd(); }
  };
  const pressed = (event) => {
    if (event.key === "Enter") { event.preventDefault(); go(event.shiftKey ? -1 : 1); }
  };
  return html`<span class="finding" role="search"><input type="search" dir="auto" value=${words} placeholder=${t("Find in the document")} aria-label=${t("Find in the document")}
      onInput=${typed} onKeyDown=${pressed} />
    <${Button} icon="search" quiet label=${t("Next match")} disabled=${!words.trim()} onClick=${() => go(1)} />
    ${asked && matches && html`<span role="status">${matches.total ? t("{current} of {total}", { current: number(matches.current), total: number(matches.total) }) : matches.pending ? `${t("Searching")}…` : t("No match")}</span>`}</span>`;
}
