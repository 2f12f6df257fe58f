// A program on the types that openapi-typescript makes of /openapi.json: the compiler checks it.
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

declare const process: { env: Record<string, string> };
const client = createClient<paths>({ baseUrl: process.env.RAGSTONE });
const messages = [{ role: "user" as const, content: process.env.QUESTION }];
const { data, error } = await client.POST("/v1/chat/completions", { body: { model: "ragstone", messages } });
if (!data || typeof data === "string") throw new Error(error?.error.message ?? "a stream");
const stores = await client.GET("/v1/vector_stores");
const answer: string | null = data.choices[0].message.content;
const urls: string[] = data.choices[0].message.annotations.map((one) => one.url_citation.url);
const ids: string[] = stores.data!.data.map((one) => one.id);
console.log(JSON.stringify({ answers: [answer], urls, stores: ids }));
