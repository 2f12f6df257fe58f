// Plots as drawings of the page itself: they need no library, and take the page's colours.
import { html } from "./lib.js";
import { number, percent, t } from "./words.js";

export const COLOURS = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];

// A share by setting, as bars from 0 to 1.
export function Bars({ title, rows }) {
  return html`<figure class="plot-card"><figcaption>${title}</figcaption><ul class="bars">
    ${rows.map(([name, value], index) => html`<li key=${name}><span dir="auto">${name}</span>
      <svg class="lane" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class=${COLOURS[index % 8]} x="0" y="0.5" height="5" width=${100 * (value ?? 0)} /></svg>
      <span class="figure">${value === null || value === undefined ? "–" : percent(value)}</span></li>`)}</ul></figure>`;
}

// The share that is right from run to run: `lines` are [name, [[place, share]...]], `places` how many.
export function Lines({ title, lines, places, labels }) {
  const x = (place) => 34 + (place * 550) / Math.max(1, places - 1);
  const y = (share) => 160 - 150 * share;
  return html`<figure class="plot-card wide-plot"><figcaption>${title}</figcaption>
    <svg class="chart" viewBox="0 0 600 180" role="img" aria-label=${title}>
      ${[0, 0.5, 1].map((share) => html`<path class="rule" d=${`M34 ${y(share)}H590`} /><text x="30" y=${y(share) + 4} text-anchor="end">${percent(share)}</text>`)}
      ${labels.map((label, place) => (place === 0 || place === places - 1 ? html`<text x=${x(place)} y="176" text-anchor=${place ? "end" : "start"}>${label}</text>` : null))}
      ${lines.map(([name, points], index) => html`<polyline class=${COLOURS[index % 8]} points=${points.map(([place, share]) => `${x(place)},${y(share)}`).join(" ")} />
        ${points.map(([place, share]) => html`<circle class=${COLOURS[index % 8]} cx=${x(place)} cy=${y(share)} r="4"><title>${`${name}: ${percent(share)} · ${labels[place]}`}</title></circle>`)}`)}
    </svg><ul class="keys">${lines.map(([name], index) => html`<li key=${name}><span class=${`dot ${COLOURS[index % 8]}`}></span><span dir="auto">${name}</span></li>`)}</ul></figure>`;
}

// Whether the confidence is true: then the points lie on the line.
export function Confidences({ title, steps, index }) {
  const x = (share) => 34 + 200 * share, y = (share) => 210 - 200 * share;
  return html`<figure class="plot-card"><figcaption dir="auto">${title}</figcaption>
    <svg class="chart" viewBox="0 0 250 232" role="img" aria-label=${t("Confidence and truth of {setting}", { setting: title })}>
      <path class="rule" d="M34 10V210H234" /><path class="rule" d="M34 210L234 10" />
      <text x="30" y="214" text-anchor="end">0</text><text x="30" y="16" text-anchor="end">1</text><text x="234" y="228" text-anchor="end">${percent(1)}</text>
      ${steps.map((step) => html`<circle key=${step.low} class=${COLOURS[index % 8]} cx=${x(step.low + 0.05)} cy=${y(step.right)} r=${3 + Math.min(9, Math.sqrt(step.answers))}>
        <title>${t("{count} answers, {share} right", { count: number(step.answers), share: percent(step.right) })}</title></circle>`)}
    </svg></figure>`;
}
