"""LiteLLM, which calls any OpenAI-compatible address as provider "openai"."""

import base64
import io
import json
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm  # noqa: E402

litellm.suppress_debug_info = True
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
address = {"api_base": os.environ["GATE"], "api_key": os.environ["KEY"]}
messages = [{"role": "user", "content": "how is the weather"}]
parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def row(call, work, refusal=""):
    try:
        outcome = "ok" if work() else "unexpected"
    except Exception as error:
        code = getattr(error, "code", None) or error
        outcome = f"{type(error).__name__} {getattr(error, 'status_code', '')} {code}"
    print(json.dumps({"call": call, "outcome": outcome, "refusal": refusal}), flush=True)


def ask(**more):
    return litellm.completion(model="openai/chat-x", messages=messages, **address, **more)


def tool_call():
    tools = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
    return ask(tools=tools).choices[0].message.tool_calls[0].function.name == "weather"


def edit_image():
    picture = io.BytesIO(PICTURE)
    picture.name = "a.png"
    return litellm.image_edit(model="openai/chat-x", image=picture, prompt="a blue cat", **address).data


row("chat", lambda: ask().choices[0].message.content)
row("chat, streamed", lambda: "".join(chunk.choices[0].delta.content or "" for chunk in ask(stream=True)))
row("chat, tool call", tool_call)
row(
    "embeddings",
    lambda: litellm.embedding(model="openai/chat-x", input=["a cat"], encoding_format="float", **address).data,
)
row("images.generate", lambda: litellm.image_generation(model="openai/chat-x", prompt="a cat", **address).data)
row("images.edit", edit_image)
row(
    "unknown model",
    lambda: litellm.completion(model="openai/nobody", messages=messages, **address),
    "404 ",
)
