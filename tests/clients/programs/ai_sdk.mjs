// The AI SDK: chat and responses, whole and streamed, with the sources that it shows.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";

const baseURL = `${process.env.RAGSTONE}/v1`, prompt = process.env.QUESTION;
const openai = createOpenAI({ baseURL, apiKey: "x" });
const like = createOpenAICompatible({ name: "ragstone", baseURL, apiKey: "x" });
const answers = [], urls = [];
for (const model of [openai.chat("ragstone"), openai.responses("ragstone"), like("ragstone")]) {
  const whole = await generateText({ model, prompt });
  const streamed = streamText({ model, prompt });
  answers.push(whole.text, await streamed.text);
  if (model !== like) urls.push(...whole.sources.map((one) => one.url).filter(Boolean));
}
console.log(JSON.stringify({ answers, urls: [...new Set(urls)] }));
