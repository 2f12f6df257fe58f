// The official client of Node: chat, its stream, and a response.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: `${process.env.RAGSTONE}/v1`, apiKey: "x" });
const messages = [{ role: "user", content: process.env.QUESTION }];
const whole = await client.chat.completions.create({ model: "ragstone", messages });
let streamed = "";
for await (const chunk of await client.chat.completions.create({ model: "ragstone", messages, stream: true }))
  streamed += chunk.choices[0]?.delta.content ?? "";
const response = await client.responses.create({ model: "ragstone", input: process.env.QUESTION });
const urls = whole.choices[0].message.annotations.map((one) => one.url_citation.url);
const answers = [whole.choices[0].message.content, streamed, response.output_text];
console.log(JSON.stringify({ answers, urls }));
