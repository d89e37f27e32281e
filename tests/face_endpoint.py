"""A model on the network, for real: an HTTP server on the loopback that fails as one does."""

import io
import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
from PIL import Image

from faceaudit.answers import image_key

FAULTS = ("500", "503", "429", "hang up", "no json", "no field")


def p_male(image):
    """The truth that the endpoint answers, of uint8 (3, h, w); None: no face."""
    return None if image[2, 0, 0] < 13 else float(image[0].mean() / 255)


class FaceEndpoint:
    """Serves until the `with` ends; `share` of the calls fail, each fault as often as the others.

    `say` replaces what is answered: a function of (handler, image) that sends it itself.
    """

    def __init__(self, share=0.0, seed=1, say=None):
        self.share, self.say = share, say
        self.chance, self.lock = np.random.default_rng(seed), threading.Lock()
        self.calls, self.answered, self.faults = 0, [], Counter()
        self.headers = []

    def __enter__(self):
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", 65536, True

            def do_POST(self):
                endpoint.take(self)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that was killed

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.ended = threading.Event()
        self.url = f"http://127.0.0.1:{self.server.server_port}/gender"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.ended.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def take(self, handler):
        png = handler.rfile.read(int(handler.headers["Content-Length"]))
        image = np.asarray(Image.open(io.BytesIO(png))).transpose(2, 0, 1)
        with self.lock:
            self.calls += 1
            self.headers.append(dict(handler.headers))
            fails = self.chance.random() < self.share
            fault = str(self.chance.choice(FAULTS)) if fails else None
            self.faults[fault] += fails
        if fault == "hang up":
            handler.close_connection = True
        elif fault in ("no json", "no field"):
            send(handler, b"<html>sorry</html>" if fault == "no json" else b'{"error": "sorry"}')
        elif fault:
            send(handler, b"sorry", int(fault), {"Retry-After": "0"} if fault != "500" else {})
        elif self.say:
            self.say(handler, image)
        else:
            p = p_male(image)
            faces = [] if p is None else [{"gender": {"p_male": p}}]
            with self.lock:
                self.answered.append(image_key(image))
            send(handler, json.dumps({"faces": faces}).encode())


def send(handler, content, status=200, headers=None):
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(content)


def say_json(answer, status=200, headers=None):
    """An endpoint's `say`: always the same."""
    return lambda handler, _: send(handler, json.dumps(answer).encode(), status, headers)


# --- sick endpoints: what they send is no proper HTTP


def send_raw(content):
    """An endpoint's `say`: always the same bytes, after which the connection is closed."""

    def say(handler, _):
        handler.connection.sendall(content)
        handler.close_connection = True

    return say


def send_for_ever(start, piece, pause=0.0):
    """An endpoint's `say`: a start, then a piece again and again, with pauses of some seconds."""

    def say(handler, _):
        handler.close_connection = True
        handler.connection.sendall(start)
        while not handler.server.ended.wait(pause):
            handler.connection.sendall(piece)

    return say


def with_length(content, *headers, length=None):
    """The bytes of a success; a length that is not true can be given.

    They say that the connection is closed: a client would otherwise call on it once more, and may
    do so while the server closes it.
    """
    length = len(content) if length is None else length
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {length}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + content
