// The official client of Node: files, a vector store with a batch, and a response kept and deleted.
import OpenAI, { toFile } from "openai";

const client = new OpenAI({ baseURL: `${process.env.RAGSTONE}/v1`, apiKey: process.env.TOKEN });
const store = await client.vectorStores.create({ metadata: { team: "ost" } });
const texts = ["The ferry to Ost leaves at 9:40.", "The bus to Ost leaves at 8:15."];
const files = await Promise.all(texts.map((text, n) => toFile(Buffer.from(`# ${n}\n\n${text}\n`), `${n}.md`)));
const batch = await client.vectorStores.fileBatches.uploadAndPoll(store.id, { files }, { pollIntervalMs: 200 });
const listed = [];
for await (const file of client.vectorStores.files.list(store.id, { limit: 1 })) listed.push(file.status);
const found = await client.vectorStores.search(store.id, { query: "When does the ferry leave?" });
const tools = [{ type: "file_search", vector_store_ids: [store.id] }];
const said = await client.responses.create({ model: "ragstone", input: "When does the ferry leave?", tools });
const again = await client.responses.retrieve(said.id);
await client.responses.delete(said.id);
const gone = await client.responses.retrieve(said.id).catch((error) => error.status);
const kept = [];
for await (const file of client.files.list({ order: "asc" })) {
  kept.push(await (await client.files.content(file.id)).text());
  await client.files.delete(file.id);
}
const left = (await client.vectorStores.retrieve(store.id)).file_counts.total;
await client.vectorStores.delete(store.id);
console.log(JSON.stringify({
  batch: batch.file_counts, listed, first: found.data[0].content[0].text,
  same: again.output_text === said.output_text, gone, kept: kept.length, left, status: batch.status,
}));
