// A client made with the official SDK: lists and calls over standard input and output, and prints what it got.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "judge", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const resources = (await client.listResources()).resources.map((resource) => resource.uri);
const prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name);
const found = await client.callTool({ name: "rye_search", arguments: { item_type: "knowledge", query: "style" } });
await client.close();
console.log(JSON.stringify({ tools, resources, prompts, isError: found.isError ?? false, text: found.content[0].text }));
