"""A client around the Python package anthropic; see ../../scenario for the protocol."""

import json
import sys
import urllib.request

import anthropic


def failure(error):
    body = getattr(error, "body", None)
    inner = body.get("error") if isinstance(body, dict) else None
    inner = inner if isinstance(inner, dict) else {}
    response = getattr(error, "response", None)
    return {
        "status": getattr(error, "status_code", 0) or 0,
        "code": "",
        "type": str(inner.get("type") or ""),
        "message": str(error),
        "retry_after": response.headers.get("retry-after", "") if response is not None else "",
        "class": type(error).__name__,
    }


def take(message, result):
    choice = {"index": 0, "text": "", "thinking": "", "signatures": [], "finish": message.stop_reason or "", "calls": []}
    for block in message.content:
        if block.type == "text":
            choice["text"] += block.text
        elif block.type == "thinking":
            choice["thinking"] += block.thinking
            choice["signatures"].append(block.signature)
        elif block.type == "tool_use":
            choice["calls"].append({"id": block.id, "name": block.name, "arguments": json.dumps(block.input)})
    result["choices"] = [choice]
    result["usage"] = {"input_tokens": message.usage.input_tokens, "output_tokens": message.usage.output_tokens}


class Runner:
    def __init__(self, job):
        given = {"base_url": job["base_url"], "api_key": job["api_key"]}
        self.client = anthropic.Anthropic(max_retries=0, **{name: value for name, value in given.items() if value})

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

    def arguments(self, task):
        messages = [m for m in task["messages"] if m["role"] != "system"]
        arguments = {"model": task["model"], "messages": messages}
        for m in task["messages"]:
            if m["role"] == "system":
                arguments["system"] = m["content"]
        if task.get("thinking"):
            arguments["thinking"] = {"type": "enabled", "budget_tokens": 1024}
        if task.get("tool"):
            tool = task["tool"]
            arguments["tools"] = [
                {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}
            ]
        return arguments

    def count(self, task, result):
        answer = self.client.messages.count_tokens(**self.arguments(task))
        result["usage"] = {"input_tokens": answer.input_tokens}
        result["dump"].append(answer.model_dump_json())

    def chat(self, task, result):
        arguments = self.arguments(task)
        answer = self.client.messages.create(max_tokens=4096, **arguments)
        result["dump"].append(answer.model_dump_json())
        if task.get("follow_up"):
            arguments["messages"] = arguments["messages"] + [
                {"role": "assistant", "content": answer.content},
                {"role": "user", "content": task["follow_up"]},
            ]
            answer = self.client.messages.create(max_tokens=4096, **arguments)
            result["dump"].append(answer.model_dump_json())
        take(answer, result)

    def stream(self, task, result, arguments=None):
        begun = False
        with self.client.messages.stream(max_tokens=4096, **(arguments or self.arguments(task))) as stream:
            try:
                for event in stream:
                    # The helper adds events of its own, and gives those of the API as they came.
                    if event.type in WIRE:
                        result["dump"].append(event.model_dump_json())
                    first = not begun and event.type == "content_block_delta" and event.delta.type == "text_delta"
                    begun = begun or first
                    if first and task.get("ack_url"):
                        urllib.request.urlopen(task["ack_url"]).close()
                    if begun and task.get("leave"):
                        break
            finally:
                take(stream.current_message_snapshot, result)
            return stream.current_message_snapshot

    def tools(self, task, result):
        answer = self.stream(task, result)
        calls = result["choices"][0]["calls"]
        result["calls"] = calls
        if not calls:
            return
        arguments = self.arguments(task)
        arguments["messages"] = arguments["messages"] + [
            {"role": "assistant", "content": answer.content},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": call["id"], "content": task["tool_result"]} for call in calls
                ],
            },
        ]
        self.stream(task, result, arguments)


WIRE = ("message_start", "content_block_start", "content_block_delta", "message_delta")


def main():
    job = json.load(sys.stdin)
    runner = Runner(job)
    for task in job["tasks"]:
        print(json.dumps(runner.run(task)), flush=True)


main()
