// A client around the npm package @anthropic-ai/sdk; see ../../scenario for the protocol.
import {text} from "node:stream/consumers";
import Anthropic from "@anthropic-ai/sdk";

const failure = (error) => ({
    status: error.status ?? 0,
    code: "",
    type: String(error.error?.error?.type ?? ""),
    message: String(error.message),
    retry_after: error.headers?.get?.("retry-after") ?? "",
    class: error.constructor.name
});

function take(message, result) {
    const choice = {index: 0, text: "", thinking: "", signatures: [], finish: message.stop_reason ?? "", calls: []};
    for (const block of message.content) {
        if (block.type === "text")
            choice.text += block.text;
        if (block.type === "thinking") {
            choice.thinking += block.thinking;
            choice.signatures.push(block.signature);
        }
        if (block.type === "tool_use")
            choice.calls.push({id: block.id, name: block.name, arguments: JSON.stringify(block.input)});
    }
    result.choices = [choice];
    const {input_tokens, output_tokens} = message.usage;
    result.usage = {input_tokens, output_tokens};
}

function argumentsOf(task) {
    const args = {model: task.model, messages: task.messages.filter(({role}) => role !== "system")};
    for (const {role, content} of task.messages) {
        if (role === "system")
            args.system = content;
    }
    if (task.thinking)
        args.thinking = {type: "enabled", budget_tokens: 1024};
    if (task.tool)
        args.tools = [{name: task.tool.name, description: task.tool.description, input_schema: task.tool.parameters}];
    return args;
}

async function stream(client, task, result, args = argumentsOf(task)) {
    const events = client.messages.stream({max_tokens: 4096, ...args});
    let begun = false;
    try {
        for await (const event of events) {
            result.dump.push(JSON.stringify(event));
            const first = !begun && event.type === "content_block_delta" && event.delta.type === "text_delta";
            begun ||= first;
            if (first && task.ack_url)
                await fetch(task.ack_url);
            if (begun && task.leave)
                break;
        }
    } finally {
        const message = events.currentMessage ?? events.receivedMessages.at(-1);
        if (message)
            take(message, result);
    }
    return events.receivedMessages.at(-1);
}

const operations = {
    async models(client, task, result) {
        result.ids = [];
        for await (const model of client.models.list()) {
            result.ids.push(model.id);
            result.dump.push(JSON.stringify(model));
        }
    },

    async count(client, task, result) {
        const answer = await client.messages.countTokens(argumentsOf(task));
        result.usage = {input_tokens: answer.input_tokens};
        result.dump.push(JSON.stringify(answer));
    },

    async chat(client, task, result) {
        const args = argumentsOf(task);
        const ask = async () => {
            const answer = await client.messages.create({max_tokens: 4096, ...args});
            result.dump.push(JSON.stringify(answer));
            return answer;
        };
        let answer = await ask();
        if (task.follow_up) {
            args.messages = [...args.messages, {role: "assistant", content: answer.content}, {role: "user", content: task.follow_up}];
            answer = await ask();
        }
        take(answer, result);
    },

    stream,

    async tools(client, task, result) {
        const answer = await stream(client, task, result);
        const {calls} = result.choices[0];
        result.calls = calls;
        if (calls.length === 0)
            return;
        const args = argumentsOf(task);
        args.messages = [...args.messages, {role: "assistant", content: answer.content}, {
            role: "user",
            content: calls.map(({id}) => ({type: "tool_result", tool_use_id: id, content: task.tool_result}))
        }];
        await stream(client, task, result, args);
    }
};

const job = JSON.parse(await text(process.stdin));
const options = {maxRetries: 0};
if (job.base_url)
    options.baseURL = job.base_url;
if (job.api_key)
    options.apiKey = job.api_key;
const client = new Anthropic(options);
for (const task of job.tasks) {
    const result = {scenario: task.scenario, error: null, dump: []};
    try {
        await operations[task.op](client, task, result);
    } catch (error) {
        result.error = failure(error); // what the library raises is the result
    }
    console.log(JSON.stringify(result));
}
