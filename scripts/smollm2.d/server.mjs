// An OpenAI-compatible HTTP server for one small GGUF model, on loopback.
//
// It exists to put a real model's own tokenisation, probabilities and pace
// behind the gateway; it is a test instrument, not a product. Served are
// GET /v1/models and POST /v1/chat/completions, streaming and not, with
// temperature, top_p, seed, stop, max_tokens (max_completion_tokens), n,
// logprobs with up to 20 top_logprobs, and stream_options.include_usage.
// POST /v1/completions only scores: echo is true, max_tokens 0 and logprobs 0,
// and the answer has the log-probability of each token of each prompt. Prompts
// of one request that begin alike should stand together: what they share is
// evaluated once. Beyond the API, score_from is a number of characters: tokens
// that end before it get null, which takes a third of the time.
// Anything else that would change the answer is refused with 400 rather than
// ignored.
//
// Log-probabilities are the model's own, over its whole vocabulary, before
// temperature and top_p; asking for them does not change the text. Tokens are
// drawn here and not in the engine, which would give the probabilities after
// its filters: from the 40 likeliest (the engine's default), cut at top_p,
// then by temperature.
//
// --context-file FILE: its text is put in front of every conversation, as the
// beginning of the system message. Whoever sits between the client and this
// server never sees it, only what the model says about it. The file is read
// anew for each request.
//
// --record FILE: every request body is appended, byte for byte as it arrived,
// each followed by a newline. It is what "reached the model endpoint" means in
// the records made with this server.
//
// One request generates at a time; others wait. A client that goes away stops
// its generation.
import {appendFileSync, readFileSync, renameSync, writeFileSync} from "node:fs";
import {createServer} from "node:http";
import {basename} from "node:path";
import {parseArgs} from "node:util";
import {getLlama, LlamaLogLevel} from "node-llama-cpp";

const maxBody = 1 << 20;
const maxPrompts = 64;
const likeliest = 40;
const {values: flags} = parseArgs({
    options: {
        "model": {type: "string"},
        "model-id": {type: "string", default: "smollm2-135m-instruct"},
        "listen-port": {type: "string", default: "0"},
        "url-file": {type: "string"},
        "context-file": {type: "string"},
        "record": {type: "string"},
        "context-size": {type: "string", default: "4096"}
    }
});
if (flags.model === undefined) {
    console.error("server.mjs: --model FILE is needed");
    process.exit(2);
}

const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.error});
const model = await llama.loadModel({modelPath: flags.model});
// One thread: so small a model gains little from more, and where there are
// fewer free cores than threads they spin waiting for each other.
const context = await model.createContext({contextSize: Number(flags["context-size"]), threads: 1});
const sequence = context.getSequence();

class BadRequest extends Error {}

// turns serialises generations: the model has one sequence.
let turns = Promise.resolve();
function inTurn(work) {
    const mine = turns.then(work);
    turns = mine.catch(() => {});
    return mine;
}

function contentOf(message) {
    if (typeof message.content === "string")
        return message.content;
    if (message.content == null)
        return "";
    if (Array.isArray(message.content) && message.content.every((part) => part.type === "text"))
        return message.content.map((part) => part.text).join("");
    throw new BadRequest("only text content is supported");
}

// promptTokens renders the conversation in ChatML. Only the template's own
// marks become special tokens; a mark inside a message stays text.
function promptTokens(messages) {
    const system = [];
    if (flags["context-file"] !== undefined)
        system.push(readFileSync(flags["context-file"], "utf8").trimEnd());
    const rest = [];
    for (const message of messages) {
        if (rest.length === 0 && (message.role === "system" || message.role === "developer"))
            system.push(contentOf(message));
        else
            rest.push(message);
    }
    if (system.length === 0)
        system.push("You are a helpful AI assistant named SmolLM, trained by Hugging Face");

    const tokens = [];
    const mark = (text) => tokens.push(...model.tokenize(text, true));
    const turn = (role, text) => {
        mark("<|im_start|>");
        tokens.push(...model.tokenize(role + "\n" + text, false));
        mark("<|im_end|>");
        tokens.push(...model.tokenize("\n", false));
    };
    turn("system", system.join("\n"));
    for (const message of rest) {
        if (!["system", "developer", "user", "assistant"].includes(message.role))
            throw new BadRequest(`the role ${JSON.stringify(message.role)} is not supported`);
        turn(message.role === "developer" ? "system" : message.role, contentOf(message));
    }
    mark("<|im_start|>");
    tokens.push(...model.tokenize("assistant\n", false));
    return tokens;
}

function parse(body) {
    const request = JSON.parse(body);
    if (!Array.isArray(request.messages) || request.messages.length === 0)
        throw new BadRequest("messages is missing");
    for (const field of ["tools", "functions", "response_format", "logit_bias", "audio"])
        if (request[field] != null && !(Array.isArray(request[field]) && request[field].length === 0) && request[field] !== 0)
            throw new BadRequest(`${field} is not supported by this model's server`);
    const number = (name, low, high, otherwise) => {
        const value = request[name] ?? otherwise;
        if (typeof value !== "number" || !(value >= low && value <= high))
            throw new BadRequest(`${name} must be a number from ${low} to ${high}`);
        return value;
    };
    const top = number("top_logprobs", 0, 20, 0);
    if (!Number.isInteger(top) || (top > 0 && request.logprobs !== true))
        throw new BadRequest("top_logprobs must be an integer, and needs logprobs");
    const stop = request.stop == null ? [] : [].concat(request.stop);
    if (!stop.every((text) => typeof text === "string" && text !== ""))
        throw new BadRequest("stop must be strings");
    return {
        tokens: promptTokens(request.messages),
        temperature: number("temperature", 0, 2, 1),
        topP: number("top_p", 0, 1, 1),
        seed: number("seed", 0, 2 ** 32 - 1, 1),
        limit: number("max_completion_tokens", 1, 4096, number("max_tokens", 1, 4096, 256)),
        n: number("n", 1, 8, 1),
        stop,
        logprobs: request.logprobs === true,
        top,
        stream: request.stream === true,
        usage: request.stream_options?.include_usage === true
    };
}

// generate yields {text, logprobs} pieces and, last, {finish, tokens}. Text is
// held back only while it is an incomplete character or could still become a
// stop sequence.
async function* generate(request, choice, gone) {
    await sequence.clearHistory();
    if (request.tokens.length + request.limit > context.contextSize)
        throw new BadRequest("the conversation is longer than the model's context");
    const said = [];
    const random = randomFrom(request.seed + choice);
    let pending = [], held = "", heldLogprobs = [], count = 0, finish = "length";
    let logprob = 0, alternatives = [];
    let input = request.tokens;
    for (;;) {
        const step = await next(input);
        const token = draw(step, request.temperature, request.topP, random);
        input = [token];
        if (gone())
            return;
        if (model.isEogToken(token)) {
            finish = "stop";
            break;
        }
        // Tokens that make one character together are told as one, with the
        // probability of all and the alternatives of the first.
        if (pending.length === 0) {
            logprob = 0;
            alternatives = step.slice(0, request.top);
        }
        logprob += step.find((c) => c.token === token).logprob;
        count++;
        pending.push(token);
        const text = model.detokenize(pending, false, said);
        if (!text.endsWith("\ufffd")) {
            held += text;
            if (request.logprobs)
                heldLogprobs.push({...told(text, logprob), top_logprobs: alternatives.map((c) => told(model.detokenize([c.token], true, said), c.logprob))});
            said.push(...pending);
            pending = [];
            const at = Math.min(...request.stop.map((s) => held.indexOf(s)).filter((i) => i >= 0));
            if (at !== Infinity) {
                held = held.slice(0, at);
                finish = "stop";
                break;
            }
            if (!request.stop.some((s) => couldBecome(held, s))) {
                yield {text: held, logprobs: heldLogprobs};
                held = "";
                heldLogprobs = [];
            }
        }
        if (count >= request.limit)
            break;
    }
    if (held !== "")
        yield {text: held, logprobs: heldLogprobs};
    yield {finish, tokens: count};
}

// told is a token as the API writes it.
function told(text, logprob) {
    return {token: text, logprob, bytes: [...Buffer.from(text)]};
}

// next evaluates tokens and returns the likeliest that may follow, the most
// probable first, with their log-probabilities over the whole vocabulary.
// At temperature 0 the engine's chain changes no logit.
async function next(tokens) {
    const generateNext = {
        logits: {filter: {tokens: [], includeTop: likeliest}},
        totalLogitWeight: true,
        options: {temperature: 0}
    };
    const last = tokens.length - 1;
    const steps = await sequence.controlledEvaluate([...tokens.slice(0, last), [tokens[last], {generateNext}]]);
    const {logits, totalLogitWeight} = steps[last].next;
    const sorted = [...logits].sort((a, b) => b[1] - a[1]);
    const base = sorted[0][1] + Math.log(totalLogitWeight);
    return sorted.map(([token, logit]) => ({token, logprob: logit - base}));
}

// parseScored reads a request that scores prompts.
function parseScored(body) {
    const request = JSON.parse(body);
    const prompts = Array.isArray(request.prompt) ? request.prompt : [request.prompt];
    if (prompts.length === 0 || prompts.length > maxPrompts || !prompts.every((p) => typeof p === "string" && p !== ""))
        throw new BadRequest(`prompt must be 1 to ${maxPrompts} strings that are not empty`);
    if (request.echo !== true || request.max_tokens !== 0 || request.logprobs !== 0)
        throw new BadRequest("prompts are only scored: echo must be true, max_tokens and logprobs 0");
    for (const field of ["stream", "suffix", "logit_bias"])
        if (request[field])
            throw new BadRequest(`${field} is not supported where prompts are scored`);
    const tokens = prompts.map((p) => model.tokenize(p, false));
    if (tokens.some((t) => t.length > context.contextSize))
        throw new BadRequest("a prompt is longer than the model's context");
    const from = request.score_from ?? 0;
    if (!Number.isInteger(from) || from < 0)
        throw new BadRequest("score_from must be a number of characters");
    return {prompts, tokens, from};
}

// score returns the log-probability of each token given those before it, null
// for the first ones. Known are those of a prompt that begins with the same
// tokens, of which the sequence still has the state.
async function score(tokens, known, first) {
    const shared = Math.max(0, Math.min(known.tokens.findIndex((t, i) => t !== tokens[i]) >>> 0, known.tokens.length, tokens.length) - 1);
    if (shared < sequence.nextTokenIndex)
        await sequence.eraseContextTokenRanges([{start: shared, end: sequence.nextTokenIndex}]);
    const out = known.logprobs.slice(0, shared + 1);
    const rest = tokens.slice(shared);
    const asked = (i) => i + 1 < rest.length && shared + i + 1 >= first;
    const steps = await sequence.controlledEvaluate(rest.map((token, i) => !asked(i) ? token : [token, {generateNext: {
        logits: {filter: {tokens: [rest[i + 1]], includeTop: 1}}, // the engine overlooks includeMax
        totalLogitWeight: true,
        options: {temperature: 0}
    }}]));
    for (let i = 0; i + 1 < rest.length; i++) {
        if (!asked(i)) {
            out.push(null);
            continue;
        }
        const {logits, totalLogitWeight} = steps[i].next;
        out.push(logits.get(rest[i + 1]) - Math.max(...logits.values()) - Math.log(totalLogitWeight));
    }
    return {tokens, logprobs: out};
}

// answerScored answers one request. Offsets count characters, as the API's do.
async function answerScored(request, response) {
    await sequence.clearHistory();
    let last = {tokens: [], logprobs: [null]};
    const choices = [];
    let used = 0;
    for (const [index, tokens] of request.tokens.entries()) {
        if (response.destroyed)
            return;
        used += tokens.length;
        const texts = [], offsets = [];
        let first = 1; // token that is scored
        for (let i = 0, at = 0; i < tokens.length; i++) {
            texts.push(model.detokenize([tokens[i]], true, tokens.slice(0, i)));
            offsets.push(at);
            at += [...texts[i]].length;
            if (at <= request.from)
                first = Math.max(1, i + 1);
        }
        last = await score(tokens, last, first);
        choices.push({index, text: request.prompts[index], finish_reason: "length", logprobs: {tokens: texts, token_logprobs: last.logprobs, top_logprobs: null, text_offset: offsets}});
    }
    sendJSON(response, 200, {
        id: `cmpl-${++served}`, object: "text_completion", created: Math.floor(Date.now() / 1000), model: flags["model-id"], choices,
        usage: {prompt_tokens: used, completion_tokens: 0, total_tokens: used}
    });
}

// draw picks a token among the likeliest.
function draw(step, temperature, topP, random) {
    if (temperature === 0)
        return step[0].token;
    const total = step.reduce((sum, c) => sum + Math.exp(c.logprob), 0);
    const kept = [];
    for (let sum = 0, i = 0; i < step.length && (i === 0 || sum < topP); i++) {
        kept.push(step[i]);
        sum += Math.exp(step[i].logprob) / total;
    }
    const weights = kept.map((c) => Math.exp((c.logprob - kept[0].logprob) / temperature));
    let at = random() * weights.reduce((sum, w) => sum + w, 0);
    for (let i = 0; i < kept.length; i++) {
        at -= weights[i];
        if (at < 0)
            return kept[i].token;
    }
    return kept.at(-1).token;
}

// randomFrom gives numbers in [0, 1), the same for the same seed (SplitMix64).
function randomFrom(seed) {
    let state = BigInt(seed);
    return () => {
        state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
        let z = state;
        z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
        z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
        return Number((z ^ (z >> 31n)) >> 11n) / 2 ** 53;
    };
}

// couldBecome reports whether text ends with a proper beginning of stop.
function couldBecome(text, stop) {
    for (let n = Math.min(text.length, stop.length - 1); n > 0; n--)
        if (stop.startsWith(text.slice(-n)))
            return true;
    return false;
}

let served = 0;
async function answer(request, response) {
    const gone = () => response.destroyed;
    const head = {id: `chatcmpl-${++served}`, created: Math.floor(Date.now() / 1000), model: flags["model-id"]};
    const usage = {prompt_tokens: request.tokens.length, completion_tokens: 0, total_tokens: request.tokens.length};
    const send = (part) => response.write(`data: ${JSON.stringify({...head, object: "chat.completion.chunk", ...part})}\n\n`);
    const choices = [];
    for (let index = 0; index < request.n; index++) {
        const choice = {index, message: {role: "assistant", content: "", refusal: null}, logprobs: request.logprobs ? {content: []} : null, finish_reason: null};
        choices.push(choice);
        for await (const piece of generate(request, index, gone)) {
            if (request.stream && !response.headersSent)
                response.writeHead(200, {"content-type": "text/event-stream", "cache-control": "no-cache"});
            if (request.stream && choice.message.content === "" && piece.text !== undefined)
                send({choices: [{index, delta: {role: "assistant", content: ""}, logprobs: null, finish_reason: null}]});
            if (piece.finish !== undefined) {
                choice.finish_reason = piece.finish;
                usage.completion_tokens += piece.tokens;
                usage.total_tokens += piece.tokens;
                if (request.stream)
                    send({choices: [{index, delta: {}, logprobs: null, finish_reason: piece.finish}]});
                continue;
            }
            choice.message.content += piece.text;
            choice.logprobs?.content.push(...piece.logprobs);
            if (request.stream)
                send({choices: [{index, delta: {content: piece.text}, logprobs: request.logprobs ? {content: piece.logprobs} : null, finish_reason: null}]});
        }
        if (gone())
            return;
    }
    if (!request.stream) {
        sendJSON(response, 200, {...head, object: "chat.completion", choices, usage});
        return;
    }
    if (request.usage)
        send({choices: [], usage});
    response.end("data: [DONE]\n\n");
}

function sendJSON(response, status, value) {
    response.writeHead(status, {"content-type": "application/json"});
    response.end(JSON.stringify(value));
}

function sendError(response, status, message) {
    if (response.headersSent) {
        response.end(`data: ${JSON.stringify({error: {message, type: "server_error", param: null, code: null}})}\n\n`);
        return;
    }
    sendJSON(response, status, {error: {message, type: status < 500 ? "invalid_request_error" : "server_error", param: null, code: null}});
}

async function bodyOf(request) {
    const parts = [];
    let size = 0;
    for await (const part of request) {
        size += part.length;
        if (size > maxBody)
            throw new BadRequest(`the body is longer than ${maxBody} bytes`);
        parts.push(part);
    }
    return Buffer.concat(parts);
}

async function handle(request, response) {
    const path = new URL(request.url, "http://loopback").pathname;
    if (request.method === "GET" && path === "/v1/models") {
        sendJSON(response, 200, {object: "list", data: [{id: flags["model-id"], object: "model", created: 0, owned_by: basename(flags.model)}]});
        return;
    }
    const scored = path === "/v1/completions";
    if (request.method !== "POST" || !scored && path !== "/v1/chat/completions") {
        sendError(response, 404, "served are GET /v1/models, POST /v1/chat/completions and POST /v1/completions");
        return;
    }
    const body = await bodyOf(request);
    if (flags.record !== undefined)
        appendFileSync(flags.record, Buffer.concat([body, Buffer.from("\n")]), {mode: 0o600});
    // The context file belongs to the moment the request came, so it is read
    // before the request waits for its turn.
    const text = body.toString("utf8");
    if (scored) {
        const parsed = parseScored(text);
        await inTurn(() => answerScored(parsed, response));
        return;
    }
    const parsed = parse(text);
    await inTurn(() => answer(parsed, response));
}

const server = createServer((request, response) => {
    handle(request, response).catch((error) => {
        const bad = error instanceof BadRequest || error instanceof SyntaxError;
        sendError(response, bad ? 400 : 500, error.message);
    });
});
server.listen(Number(flags["listen-port"]), "127.0.0.1", () => {
    const url = `http://127.0.0.1:${server.address().port}/v1`;
    if (flags["url-file"] !== undefined) {
        // Renamed into place, so that a reader never sees half of it.
        writeFileSync(flags["url-file"] + ".new", url + "\n");
        renameSync(flags["url-file"] + ".new", flags["url-file"]);
    }
    console.error(`serving ${flags["model-id"]} on ${url}`);
});
for (const signal of ["SIGINT", "SIGTERM"])
    process.on(signal, () => process.exit(0));
