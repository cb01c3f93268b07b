// A client around the npm package openai; see ../../scenario for the protocol.
import {text} from "node:stream/consumers";
import OpenAI from "openai";
import {operations as responses} from "./responses.mjs";

const failure = (error) => ({
    status: error.status ?? 0,
    code: String(error.code ?? ""),
    type: String(error.type ?? ""),
    message: String(error.message),
    retry_after: error.headers?.get?.("retry-after") ?? "",
    class: error.constructor.name
});

const usageOf = ({prompt_tokens, completion_tokens, total_tokens}) => ({prompt_tokens, completion_tokens, total_tokens});

const callOf = ({id, function: {name, arguments: args}}) => ({id, name, arguments: args});

// Whole puts a streamed answer together, chunk by chunk.
class Whole {
    choices = [];
    usage = null;
    begun = false;

    add(chunk) {
        if (chunk.usage)
            this.usage = usageOf(chunk.usage);
        for (const {index, delta, finish_reason} of chunk.choices) {
            const choice = (this.choices[index] ??= {index, text: "", finish: "", calls: []});
            choice.text += delta.content ?? "";
            this.begun ||= Boolean(delta.content);
            choice.finish = finish_reason ?? choice.finish;
            for (const part of delta.tool_calls ?? []) {
                const call = (choice.calls[part.index] ??= {id: "", name: "", arguments: ""});
                call.id += part.id ?? "";
                call.name += part.function?.name ?? "";
                call.arguments += part.function?.arguments ?? "";
            }
        }
    }
}

function argumentsOf(task) {
    const args = {model: task.model};
    if (task.n)
        args.n = task.n;
    if (task.logprobs)
        args.logprobs = true;
    if (task.tool)
        args.tools = [{type: "function", function: task.tool}];
    return args;
}

async function stream(client, task, result, messages = task.messages) {
    const whole = new Whole();
    try {
        const chunks = await client.chat.completions.create({
            messages, stream: true, stream_options: {include_usage: true}, ...argumentsOf(task)
        });
        let acknowledged = false;
        for await (const chunk of chunks) {
            result.dump.push(JSON.stringify(chunk));
            whole.add(chunk);
            if (whole.begun && task.ack_url && !acknowledged) {
                acknowledged = true;
                await fetch(task.ack_url);
            }
            if (whole.begun && task.leave)
                break;
        }
    } finally {
        result.choices = whole.choices;
        result.usage = whole.usage;
    }
}

const operations = {
    ...responses,

    async models(client, task, result) {
        result.ids = [];
        for await (const model of client.models.list()) {
            result.ids.push(model.id);
            result.dump.push(JSON.stringify(model));
        }
    },

    async embeddings(client, task, result) {
        const answer = await client.embeddings.create({model: task.model, input: task.input});
        result.vectors = answer.data.map(({embedding}) => Array.from(embedding));
        result.dump.push(JSON.stringify(answer));
    },

    async chat(client, task, result) {
        const messages = [...task.messages];
        const ask = async () => {
            const answer = await client.chat.completions.create({messages, ...argumentsOf(task)});
            result.dump.push(JSON.stringify(answer));
            return answer;
        };
        let answer = await ask();
        if (task.follow_up) {
            messages.push({role: "assistant", content: answer.choices[0].message.content});
            messages.push({role: "user", content: task.follow_up});
            answer = await ask();
        }
        result.usage = usageOf(answer.usage);
        result.choices = answer.choices.map(({index, message, finish_reason}) => ({
            index, text: message.content ?? "", finish: finish_reason, calls: (message.tool_calls ?? []).map(callOf)
        }));
    },

    stream,

    async tools(client, task, result) {
        await stream(client, task, result);
        const [first] = result.choices;
        result.calls = first.calls;
        if (first.calls.length === 0)
            return;
        const messages = [...task.messages, {
            role: "assistant",
            content: first.text,
            tool_calls: first.calls.map(({id, name, arguments: args}) => ({id, type: "function", function: {name, arguments: args}}))
        }];
        for (const {id} of first.calls)
            messages.push({role: "tool", tool_call_id: id, content: task.tool_result});
        await stream(client, task, result, messages);
    }
};

const job = JSON.parse(await text(process.stdin));
const options = {maxRetries: 0};
if (job.base_url)
    options.baseURL = job.base_url;
if (job.api_key)
    options.apiKey = job.api_key;
const client = new OpenAI(options);
for (const task of job.tasks) {
    const result = {scenario: task.scenario, error: null, dump: []};
    try {
        await operations[task.op](client, task, result);
    } catch (error) {
        result.error = failure(error); // what the library raises is the result
    }
    console.log(JSON.stringify(result));
}
