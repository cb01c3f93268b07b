// The operations of the Responses API; see ../../scenario for the protocol.

function argumentsOf(task) {
    const args = {model: task.model};
    for (const {role, content} of task.messages) {
        if (role === "system")
            args.instructions = content;
    }
    if (task.logprobs) {
        args.include = ["message.output_text.logprobs"];
        args.top_logprobs = 1;
    }
    if (task.tool)
        args.tools = [{type: "function", strict: false, ...task.tool}];
    return args;
}

const saidIn = ({messages}) => messages.filter(({role}) => role !== "system");

const textOf = ({output}) => output.flatMap(({type, content}) => type === "message" ? content : []).map(({text}) => text ?? "").join("");

function take({output, status, usage}, result) {
    result.usage = {prompt_tokens: usage.input_tokens, completion_tokens: usage.output_tokens, total_tokens: usage.total_tokens};
    result.choices = [{
        index: 0,
        text: textOf({output}),
        finish: status === "completed" ? "stop" : status,
        calls: output.filter(({type}) => type === "function_call").map(({call_id: id, name, arguments: args}) => ({id, name, arguments: args}))
    }];
}

// hear reads a stream through the library's own accumulation.
async function hear(client, task, result, input = saidIn(task)) {
    let text = "";
    const events = client.responses.stream({input, ...argumentsOf(task)});
    try {
        for await (const event of events) {
            result.dump.push(JSON.stringify(event));
            if (event.type === "response.output_text.delta") {
                if (text === "" && task.ack_url)
                    await fetch(task.ack_url);
                text += event.delta;
            }
            if (text && task.leave) {
                events.abort();
                return null;
            }
        }
    } finally {
        result.choices = [{index: 0, text, finish: "", calls: []}];
    }
    const whole = await events.finalResponse();
    if (textOf(whole) !== text)
        throw new Error("the response is another text than its pieces");
    take(whole, result);
    return whole;
}

export const operations = {
    async responses(client, task, result) {
        let answer = await client.responses.create({input: saidIn(task), ...argumentsOf(task)});
        result.dump.push(JSON.stringify(answer));
        if (task.follow_up) {
            answer = await client.responses.create({model: task.model, previous_response_id: answer.id, input: task.follow_up});
            result.dump.push(JSON.stringify(answer));
        }
        take(answer, result);
    },

    async responses_stream(client, task, result) {
        await hear(client, task, result);
    },

    async responses_tools(client, task, result) {
        const {output} = await hear(client, task, result);
        result.calls = result.choices[0].calls;
        if (result.calls.length === 0)
            return;
        const results = result.calls.map(({id}) => ({type: "function_call_output", call_id: id, output: task.tool_result}));
        await hear(client, task, result, [...saidIn(task), ...output, ...results]);
    }
};
