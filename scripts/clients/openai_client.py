"""The official client of OpenAI for Python. Prints one line of JSON for each call."""

import json
import os
import time

from openai import OpenAI

client = OpenAI(base_url=os.environ["GATE"], api_key=os.environ["KEY"])
messages = [{"role": "user", "content": "how is the weather"}]
parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def row(call, work, refusal=""):
    try:
        outcome = "ok" if work() else "unexpected"
    except Exception as error:
        outcome = f"{type(error).__name__} {getattr(error, 'status_code', '')} {getattr(error, 'code', None) or error}"
    print(json.dumps({"call": call, "outcome": outcome, "refusal": refusal}), flush=True)


def streamed():
    chunks = client.chat.completions.create(model="chat-x", messages=messages, stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


def tool_call():
    tools = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
    made = client.chat.completions.create(model="chat-x", messages=messages, tools=tools)
    return made.choices[0].message.tool_calls[0].function.name == "weather"


videos = []


def video():
    made = client.videos.create(model="demo-video", prompt="a lighthouse [duration=0.3]", seconds="4")
    while made.status in ("queued", "in_progress"):
        time.sleep(0.2)
        made = client.videos.retrieve(made.id)
    videos.append(made.id)
    return made.status == "completed"


def relayed_video():
    made = client.videos.create(model="video-x", prompt="a lighthouse", seconds="4", size="1280x720")
    read = client.videos.retrieve(made.id)
    return (read.status, read.seconds, read.size) == ("completed", "4", "1280x720")


def response_stream():
    prompt = "a lighthouse [duration=0.3]"
    events = [event.type for event in client.responses.create(model="demo-video", input=prompt, stream=True)]
    return events[-1] == "response.completed"


def poor():
    return OpenAI(base_url=os.environ["GATE"], api_key=os.environ["POOR_KEY"])


def wrong():
    return OpenAI(base_url=os.environ["GATE"], api_key="sk-wrong")


row("models.list", lambda: len(client.models.list().data) > 0)
row("models.retrieve", lambda: client.models.retrieve("chat-x").id == "chat-x")
row("chat", lambda: client.chat.completions.create(model="chat-x", messages=messages).choices[0].message.content)
row("chat, streamed", streamed)
row("chat, tool call", tool_call)
row("embeddings", lambda: client.embeddings.create(model="chat-x", input="a cat").data[0].embedding)
row("images.generate", lambda: client.images.generate(model="chat-x", prompt="a cat").data[0].b64_json)
row("audio.speech", lambda: client.audio.speech.create(model="chat-x", voice="alloy", input="hello").content)
row(
    "audio.transcriptions",
    lambda: client.audio.transcriptions.create(model="chat-x", file=("a.mp3", bytes(1000), "audio/mpeg")).text,
)
row("videos.createAndPoll", video)
row("videos.downloadContent", lambda: client.videos.download_content(videos[0]).content)
row("videos.list", lambda: client.videos.list().data[0].id == videos[0])
row("videos, relayed", relayed_video)
row("videos.remix", lambda: client.videos.remix(videos[0], prompt="a tower"), "400 remix_unsupported")
row("videos.delete", lambda: client.videos.delete(videos[0]).deleted)
row(
    "responses",
    lambda: client.responses.create(model="demo-video", input="a tower [duration=0.3]").status == "completed",
)
row("responses, streamed", response_stream)
row("unknown model", lambda: client.chat.completions.create(model="nobody", messages=messages), "404 model_not_found")
row("wrong key", lambda: wrong().models.list(), "401 api_key_invalid")
row("no money", lambda: poor().videos.create(model="demo-video", prompt="a cat"), "429 insufficient_quota")
