// An MCP client around npm's @modelcontextprotocol/sdk: plays a plan and tells
// what came of it.
//
//   node client.mjs PLAN COMMAND [ARG...]
//   node client.mjs PLAN URL
//
// PLAN is a JSON list of steps (see main.go). A line of JSON goes to standard
// output for every step, and for everything that the server asks or tells.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, LoggingMessageNotificationSchema, McpError,
} from "@modelcontextprotocol/sdk/types.js";

const [, , planFile, command, ...args] = process.argv;
const plan = JSON.parse(readFileSync(planFile, "utf8"));

function sorted(v) {
  if (Array.isArray(v)) return v.map(sorted);
  if (v === null || typeof v !== "object") return v;
  return Object.fromEntries(Object.keys(v).sort().map((k) => [k, sorted(v[k])]));
}
const tell = (kind, more = {}) => console.log(JSON.stringify(sorted({ kind, ...more })));

const client = new Client(
  { name: "e2e", version: "1" },
  { capabilities: { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} } },
);
client.setRequestHandler(CreateMessageRequestSchema, async (r) => {
  tell("sampling", { params: r.params });
  return { role: "assistant", model: "none", content: { type: "text", text: "an answer" } };
});
client.setRequestHandler(ElicitRequestSchema, async (r) => {
  tell("elicitation", { params: r.params });
  return r.params.mode === "url" ? { action: "accept" } : { action: "accept", content: { name: "Ada", check: true } };
});
client.setRequestHandler(ListRootsRequestSchema, async () => {
  tell("roots");
  return { roots: [{ uri: "file:///srv/project", name: "project" }] };
});
client.setNotificationHandler(LoggingMessageNotificationSchema, async (n) => tell("log", { params: n.params }));
client.onerror = (e) => tell("broken", { error: e.name });

async function pages(list, name) {
  const out = [];
  let cursor;
  do {
    const page = await list(cursor ? { cursor } : undefined);
    out.push(...page[name]);
    cursor = page.nextCursor;
  } while (cursor);
  return out;
}

async function play(step) {
  switch (step.do) {
    case "list":
      return {
        tools: await pages((p) => client.listTools(p), "tools"),
        prompts: step.all ? await pages((p) => client.listPrompts(p), "prompts") : [],
        resources: step.all ? await pages((p) => client.listResources(p), "resources") : [],
        templates: step.all ? await pages((p) => client.listResourceTemplates(p), "resourceTemplates") : [],
      };
    case "call":
      return client.callTool({ name: step.name, arguments: step.args ?? {} }, undefined, {
        onprogress: step.progress ? (p) => tell("progress", { done: p.progress, total: p.total, message: p.message }) : undefined,
      });
    case "read":
      return client.readResource({ uri: step.uri });
    case "prompt":
      return client.getPrompt({ name: step.name, arguments: step.args ?? {} });
    case "complete":
      return client.complete({ ref: { type: "ref/prompt", name: step.name }, argument: { name: step.argument, value: step.value } });
    case "subscribe":
      await client.subscribeResource({ uri: step.uri });
      await client.unsubscribeResource({ uri: step.uri });
      return {};
    case "ping":
      return client.ping();
    case "level":
      return client.setLoggingLevel(step.level);
  }
  throw new Error(step.do);
}

await client.connect(command.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
tell("initialize", { result: { info: client.getServerVersion(), capabilities: client.getServerCapabilities(), instructions: client.getInstructions() } });
for (const [n, step] of plan.entries()) {
  try {
    tell("step", { n, result: await play(step) });
  } catch (e) {
    if (e instanceof McpError) tell("step", { n, error: { code: e.code, message: e.message, data: e.data } });
    else tell("step", { n, complaint: `${e.name}: ${e.message}` });
  }
}
await client.close();
