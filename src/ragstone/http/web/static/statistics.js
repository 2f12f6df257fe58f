// What was asked, what it cost and how long it took: as plots, and as a table for who cannot see them.
import { html, useEffect, useLoaded, useRef, useState } from "./lib.js";
import { request } from "./api.js";
import { stageName } from "./answer.js";
import { Busy, Choice, Failure } from "./ui.js";
import { duration, language, number, t } from "./words.js";

export function StatisticsView() {
  const [days, setDays] = useState("30");
  const [by, setBy] = useState("day");
  const use = useLoaded(() => request(`/api/v1/stats?days=${days}&by=${by}`), [days, by]);
  const perDay = useLoaded(() => request(`/api/v1/stats?days=${days}&by=day`), [days]);
  const stages = useLoaded(() => request(`/api/v1/stats/stages?days=${Math.min(7, days)}`), [days]);
  if (use.error) return html`<${Failure} error=${use.error} again=${use.reload} />`;
  if (!use.value || !perDay.value) return html`<${Busy} />`;
  const rows = use.value.use;
  const all = filled(perDay.value.use, Number(days));
  const longest = Math.max(...(stages.value?.stages || []).map((stage) => stage.p95), 1e-9);
  return html`<div class="row"><${Choice} label=${t("Days")} value=${days} options=${["7", "30", "90", "365"].map((count) => [count, count])} onChange=${setDays} />
      <${Choice} label=${t("By")} value=${by} options=${[["day", t("Day")], ["user", t("User")], ["room", t("Conversation")], ["model", t("Model")]]} onChange=${setBy} /></div>
    ${!rows.length ? html`<p class="dim">${t("No questions yet.")}</p>` : html`<div class="tiles"><${Plot} title=${t("Questions")} days=${all} lines=${[[t("All"), "questions", "--accent"], [t("Refused"), "refused", "--fair"], [t("Blocked"), "blocked", "--bad"]]} />
      <${Plot} title=${t("Cost in dollars")} days=${all} lines=${[[t("Cost"), "cost", "--accent"]]} /></div>
    <div class="scroll" tabindex="0"><table class="list"><thead><tr>${[t("Name"), t("Questions"), t("Refused"), t("Blocked"), t("Tokens"), t("Cost")].map((heading) => html`<th scope="col">${heading}</th>`)}</tr></thead>
      <tbody>${rows.map((row) => html`<tr key=${row.name}><td dir="auto">${row.name || "–"}</td><td class="figure">${number(row.questions)}</td><td class="figure">${number(row.refused)}</td><td class="figure">${number(row.blocked)}</td>
        <td class="figure">${number(row.prompt_tokens + row.completion_tokens)}</td><td class="figure">$${row.cost.toFixed(4)}</td></tr>`)}</tbody></table></div>`}
    ${stages.error && html`<${Failure} error=${stages.error} again=${stages.reload} />`}${stages.busy && !stages.value && html`<${Busy} />`}
    ${stages.value?.stages.length > 0 && html`<h2>${t("Time of each step")}</h2><ol class="timeline">${stages.value.stages.map((stage) => html`<li key=${stage.stage}><span class="stage">${stageName(stage.stage)}</span><span class="took">${duration(stage.mean)}</span>
      <svg class="lane" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect x="0" y="1" height="4" width=${(stage.mean / longest) * 100} /></svg>
      <span class="decided">${t("95% under {time}", { time: duration(stage.p95) })} · ${t("{count} times", { count: number(stage.runs) })}${stage.failed ? ` · ${t("{count} failed", { count: stage.failed })}` : ""}</span></li>`)}</ol>`}`;
}

// Days without a question are days too.
function filled(rows, days) {
  const known = new Map(rows.map((row) => [row.name, row]));
  const today = Math.floor(Date.now() / 86_400_000) * 86_400;
  return Array.from({ length: days }, (_, index) => {
    const at = today - (days - 1 - index) * 86_400;
    return { at, questions: 0, refused: 0, blocked: 0, cost: 0, ...known.get(new Date(at * 1000).toISOString().slice(0, 10)) };
  });
}

const LEAST = { questions: 0, cost: -6 }; // Powers of ten: there is no half question.

// Steps of an axis whose figures are short: 1, 2 or 5 of a power of ten.
const steps = (least) => Array.from({ length: 9 - least }, (_, power) => power + least).flatMap((power) => [1, 2, 5].map((digit) => Number(`${digit}e${power}`)));

function Plot({ title, days, lines }) {
  const place = useRef(null);
  useEffect(() => {
    let plot = null, gone = false;
    Promise.all([import("./vendor/uplot.js"), styled()]).then(([{ default: UPlot }]) => {
      if (gone) return;
      const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
      const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 } };
      plot = new UPlot({ width: place.current.clientWidth, height: 190, legend: { show: lines.length > 1 }, cursor: { drag: { x: false } },
        axes: [{ ...axis, values: (_, values) => values.map((at) => new Intl.DateTimeFormat(language, { day: "numeric", month: "short", timeZone: "UTC" }).format(at * 1000)) }, { ...axis, size: 60, incrs: steps(LEAST[lines[0][1]]), values: (_, values) => values.map((value) => number(value, 6)) }],
        scales: { y: { range: (_, low, high) => [0, Math.max(high * 1.1, 0.01)] } },
        series: [{ label: t("Day"), value: (_, at) => (at === null ? "" : new Date(at * 1000).toISOString().slice(0, 10)) }, ...lines.map(([label, , name]) => ({ label, stroke: colour(name), width: 2, fill: "transparent", points: { show: days.length < 40 } }))],
      }, [days.map((day) => day.at), ...lines.map(([, key]) => days.map((day) => day[key]))], place.current);
    });
    return () => { gone = true; plot?.destroy(); };
  }, [days]);
  return html`<section class="card"><h2>${title}</h2><div ref=${place} class="plot" dir="ltr" role="img" aria-label=${t("{title} by day; the table below has the figures", { title })}></div></section>`;
}

function styled() {
  if (document.getElementById("plots")) return null;
  const link = Object.assign(document.createElement("link"), { id: "plots", rel: "stylesheet", href: "/web/vendor/uplot.css" });
  return new Promise((resolve) => { link.onload = resolve; link.onerror = resolve; document.head.append(link); });
}
