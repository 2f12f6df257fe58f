// What a server with much in it would answer, and how long each interaction takes.
const asked = window.fetch;
const answers = {
  documents: ({ after }) => {
    const start = after ? Number(after.slice(6, 10)) + 1 : 0;
    return Array.from({ length: Math.min(1000, LISTED - start) }, (_, number) => ({ id: `d${start + number}`,
      path: `/note-${String(start + number).padStart(4, "0")}.md`, title: `Note ${start + number}`, status: "ready", chunks: 1,
      pages: 0, size: 100, modified: 1, error: "", allowed: ["*"] }));
  },
  "conversations.entries": ({ offset }) => Array.from({ length: Math.min(20, TURNS - offset) }, (_, number) => window.kept(offset + number)),
};
window.kept = (number) => {
  const text = number ? `The mast number ${number} is high. `.repeat(20) : "A station has masts and panels.\n\n".repeat(CHARACTERS / 33);
  const block = { room_id: "many", chat_id: `t${number}`, is_error: false, conversations: [{ role: "user", content: `Question ${number}?` }], result: { final_response: text } };
  return { block, notes: { collection: "default", answer: { text, citations: [] }, verdicts: [], nearest: [], trace: [] } };
};
window.fetch = async (address, options) => {
  const name = String(address).split("/local/call/")[1];
  if (!answers[name]) return asked(address, options);
  return new Response(JSON.stringify(answers[name](JSON.parse(options.body))), { headers: { "content-type": "application/json" } });
};
window.slow = [];
new PerformanceObserver((list) => window.slow.push(...list.getEntries().map((one) => one.duration)))
  .observe({ type: "event", durationThreshold: 16, buffered: true });
