"""uvicorn serves this, as server.mjs."""

import json
import os

taken = {}


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    kind, id_ = (scope["path"].split("/") + [""])[1:3]
    sent = b""
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            return
        sent += event.get("body", b"")
        if not event.get("more_body"):
            break
    status, headers, pieces = 200, [], [b"plain"]
    if kind == "echo":
        if scope["method"] == "POST":
            taken[id_] = taken.get(id_, 0) + 1
        pieces = [id_.encode() + b" " + sent]
        headers = [(b"content-length", str(len(pieces[0])).encode())]
    elif kind == "taken":
        pieces = [json.dumps(taken).encode()]
    elif kind == "chunked":
        pieces = [b"one ", b"two ", b"three"]
    elif kind == "close":
        pieces, headers = [b"the last one"], [(b"connection", b"close")]
    elif kind == "nothing":
        status, pieces = 204, []
    elif kind == "unchanged":
        status, pieces, headers = 304, [], [(b"etag", b'"a"')]
    elif kind != "plain":
        with open(os.path.join(os.environ["BODIES"], kind), "rb") as file:
            pieces, headers = [file.read()], [(b"content-encoding", kind.encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    for piece in pieces:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
