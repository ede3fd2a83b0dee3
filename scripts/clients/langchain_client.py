"""LangChain's ChatOpenAI and OpenAIEmbeddings with their defaults."""

import json
import os

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

address = {"base_url": os.environ["GATE"], "api_key": os.environ["KEY"]}
chat = ChatOpenAI(model="chat-x", **address)


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return city


def row(call, work, refusal=""):
    try:
        outcome = "ok" if work() else "unexpected"
    except Exception as error:
        outcome = f"{type(error).__name__} {getattr(error, 'status_code', '')} {getattr(error, 'code', None) or error}"
    print(json.dumps({"call": call, "outcome": outcome, "refusal": refusal}), flush=True)


row("chat", lambda: chat.invoke("how is the weather").content)
row("chat, streamed", lambda: "".join(chunk.content for chunk in chat.stream("how is the weather")))
row(
    "chat, tool call",
    lambda: chat.bind_tools([weather]).invoke("how is the weather").tool_calls[0]["name"] == "weather",
)
row(
    "embeddings",
    lambda: OpenAIEmbeddings(model="chat-x", check_embedding_ctx_length=False, **address).embed_query("a cat"),
)
row("unknown model", lambda: ChatOpenAI(model="nobody", **address).invoke("hello"), "404 model_not_found")
