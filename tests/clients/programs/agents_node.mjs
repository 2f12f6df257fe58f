// OpenAI Agents for Node: an agent that searches the documents.
import { Agent, fileSearchTool, Runner, OpenAIProvider, setTracingDisabled } from "@openai/agents";
import OpenAI from "openai";

setTracingDisabled(true);
const openAIClient = new OpenAI({ baseURL: `${process.env.RAGSTONE}/v1`, apiKey: "x" });
const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient, useResponses: true }) });
const agent = new Agent({ name: "Reader", model: "ragstone", tools: [fileSearchTool(["default"])] });
const result = await runner.run(agent, process.env.QUESTION);
console.log(JSON.stringify({ answers: [result.finalOutput] }));
