"""A client around the Python package openai; see ../../scenario for the protocol."""

import json
import sys
import urllib.request

import openai
import openai.lib.streaming.responses._responses


def failure(error):
    body = getattr(error, "body", None)
    body = body if isinstance(body, dict) else {}
    response = getattr(error, "response", None)
    return {
        "status": getattr(error, "status_code", 0) or 0,
        "code": str(body.get("code") or ""),
        "type": str(body.get("type") or ""),
        "message": str(error),
        "retry_after": response.headers.get("retry-after", "") if response is not None else "",
        "class": type(error).__name__,
    }


def usage_of(usage):
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    return {name: getattr(usage, name) for name in names}


def call_of(call):
    return {"id": call.id, "name": call.function.name, "arguments": call.function.arguments}


class Stream:
    """Puts a streamed answer together, chunk by chunk."""

    def __init__(self):
        self.choices = {}
        self.usage = None
        self.begun = False

    def add(self, chunk):
        if chunk.usage is not None:
            self.usage = usage_of(chunk.usage)
        for part in chunk.choices:
            choice = self.choices.setdefault(part.index, {"index": part.index, "text": "", "finish": "", "calls": {}})
            choice["text"] += part.delta.content or ""
            self.begun = self.begun or bool(part.delta.content)
            choice["finish"] = part.finish_reason or choice["finish"]
            for delta in part.delta.tool_calls or []:
                call = choice["calls"].setdefault(delta.index, {"id": "", "name": "", "arguments": ""})
                call["id"] += delta.id or ""
                call["name"] += delta.function.name or ""
                call["arguments"] += delta.function.arguments or ""

    def result(self):
        return [
            {**choice, "calls": [call for _, call in sorted(choice["calls"].items())]}
            for _, choice in sorted(self.choices.items())
        ]


class Runner:
    def __init__(self, job):
        given = {"base_url": job["base_url"], "api_key": job["api_key"]}
        self.client = openai.OpenAI(max_retries=0, **{name: value for name, value in given.items() if value})

    def run(self, task):
        result = {"scenario": task["scenario"], "error": None, "dump": []}
        try:
            getattr(self, task["op"])(task, result)
        except Exception as error:  # what the library raises is the result
            result["error"] = failure(error)
        return result

    def models(self, task, result):
        result["ids"] = []
        for model in self.client.models.list():
            result["ids"].append(model.id)
            result["dump"].append(model.model_dump_json())

    def embeddings(self, task, result):
        answer = self.client.embeddings.create(model=task["model"], input=task["input"])
        result["vectors"] = [one.embedding for one in answer.data]
        result["dump"].append(answer.model_dump_json())

    def arguments(self, task):
        arguments = {"model": task["model"]}
        if task.get("n"):
            arguments["n"] = task["n"]
        if task.get("logprobs"):
            arguments["logprobs"] = True
        if task.get("tool"):
            arguments["tools"] = [{"type": "function", "function": task["tool"]}]
        return arguments

    def chat(self, task, result):
        messages = list(task["messages"])
        answer = self.client.chat.completions.create(messages=messages, **self.arguments(task))
        result["dump"].append(answer.model_dump_json())
        if task.get("follow_up"):
            messages.append({"role": "assistant", "content": answer.choices[0].message.content})
            messages.append({"role": "user", "content": task["follow_up"]})
            answer = self.client.chat.completions.create(messages=messages, **self.arguments(task))
            result["dump"].append(answer.model_dump_json())
        result["usage"] = usage_of(answer.usage)
        result["choices"] = [
            {
                "index": choice.index,
                "text": choice.message.content or "",
                "finish": choice.finish_reason,
                "calls": [call_of(call) for call in choice.message.tool_calls or []],
            }
            for choice in answer.choices
        ]

    def stream(self, task, result, messages=None):
        whole = Stream()
        try:
            with self.client.chat.completions.create(
                messages=messages or task["messages"],
                stream=True,
                stream_options={"include_usage": True},
                **self.arguments(task),
            ) as chunks:
                acknowledged = False
                for chunk in chunks:
                    result["dump"].append(chunk.model_dump_json())
                    whole.add(chunk)
                    if whole.begun and task.get("ack_url") and not acknowledged:
                        acknowledged = True
                        urllib.request.urlopen(task["ack_url"]).close()
                    if whole.begun and task.get("leave"):
                        break
        finally:
            result["choices"] = whole.result()
            result["usage"] = whole.usage

    def tools(self, task, result):
        self.stream(task, result)
        calls = result["choices"][0]["calls"]
        result["calls"] = calls
        if not calls:
            return
        messages = list(task["messages"])
        messages.append({
            "role": "assistant",
            "content": result["choices"][0]["text"],
            "tool_calls": [
                {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
                for call in calls
            ],
        })
        for call in calls:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": task["tool_result"]})
        self.stream(task, result, messages)

    def asked(self, task):
        arguments = {"model": task["model"]}
        for message in task["messages"]:
            if message["role"] == "system":
                arguments["instructions"] = message["content"]
        if task.get("logprobs"):
            arguments["include"] = ["message.output_text.logprobs"]
            arguments["top_logprobs"] = 1
        if task.get("tool"):
            arguments["tools"] = [{"type": "function", "strict": False, **task["tool"]}]
        return arguments

    def said(self, task):
        return [message for message in task["messages"] if message["role"] != "system"]

    def take(self, answer, result):
        names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens", "total_tokens": "total_tokens"}
        result["usage"] = {name: getattr(answer.usage, theirs) for name, theirs in names.items()}
        result["choices"] = [{
            "index": 0,
            "text": answer.output_text,
            "finish": "stop" if answer.status == "completed" else answer.status,
            "calls": [
                {"id": item.call_id, "name": item.name, "arguments": item.arguments}
                for item in answer.output
                if item.type == "function_call"
            ],
        }]

    def responses(self, task, result):
        answer = self.client.responses.create(input=self.said(task), **self.asked(task))
        result["dump"].append(answer.model_dump_json())
        if task.get("follow_up"):
            answer = self.client.responses.create(model=task["model"], previous_response_id=answer.id, input=task["follow_up"])
            result["dump"].append(answer.model_dump_json())
        self.take(answer, result)

    def responses_stream(self, task, result, said=None):
        text, whole = "", None
        # The library's own accumulation reads the same events: it is strict
        # about their order.
        state = openai.lib.streaming.responses._responses.ResponseStreamState(
            input_tools=openai.NOT_GIVEN, text_format=openai.NOT_GIVEN
        )
        try:
            with self.client.responses.create(input=said or self.said(task), stream=True, **self.asked(task)) as events:
                for event in events:
                    result["dump"].append(event.model_dump_json())
                    state.handle_event(event.model_copy(deep=True))
                    if event.type == "response.output_text.delta":
                        if not text and task.get("ack_url"):
                            urllib.request.urlopen(task["ack_url"]).close()
                        text += event.delta
                    if event.type == "response.completed":
                        whole = event.response
                    if text and task.get("leave"):
                        return None
        finally:
            result["choices"] = [{"index": 0, "text": text, "finish": "", "calls": []}]
        if whole is None:
            raise RuntimeError("the stream ended without a complete response")
        if whole.output_text != text:
            raise RuntimeError("the response is another text than its pieces")
        self.take(whole, result)
        return whole

    def responses_tools(self, task, result):
        whole = self.responses_stream(task, result)
        calls = result["choices"][0]["calls"]
        result["calls"] = calls
        if not calls:
            return
        said = self.said(task) + [item.model_dump(exclude_none=True) for item in whole.output]
        for call in calls:
            said.append({"type": "function_call_output", "call_id": call["id"], "output": task["tool_result"]})
        self.responses_stream(task, result, said)


def main():
    job = json.load(sys.stdin)
    runner = Runner(job)
    for task in job["tasks"]:
        print(json.dumps(runner.run(task)), flush=True)


main()
