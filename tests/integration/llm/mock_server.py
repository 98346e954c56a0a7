"""An OpenAI-compatible server that answers as its model's name says, faults included. Python's standard library only.

    python3 mock_server.py [--text-file FILE]

prints "port N" once it listens on 127.0.0.1. Behaviours, by the request's model:

    ok                    streams the text (default: an echo of the last message) and ends as the protocol says
    rate_limited          429 with Retry-After once, then ok
    rate_limited_long     429 with a Retry-After of an hour, always
    server_error          500 twice, then ok
    always_500            500, always
    quota                 429 insufficient_quota, always
    broken_stream         cuts the connection in the middle once, then ok
    always_broken         cuts the connection in the middle, always
    done_without_end      [DONE] without a finish reason, always
    slow                  one character each 50 ms, then ok
    silent                sends the header and then nothing
    malformed             an event that is not JSON once, then ok
    no_usage              never sends usage
    no_stream_options     400 for stream_options, ok without it
    html                  200 with an HTML page, always
    not_streaming         one JSON object in place of a stream
    huge                  never stops talking
    length, filter        ends for that reason
    refusal               refuses in words
    reasoning             thinks aloud before it answers
    stream_error          an error object in the middle of the stream once, then ok
    doubling              an edit that doubles the last "BLOCK = N" of the prompt; each fifth reply is an edit that matches nothing
    needs_key             401 unless the key is "right-key"

With --tls it speaks HTTPS with a certificate that nobody has reason to trust, made with the openssl command.

GET /log returns what was asked of each model: [{"model", "authorization", "body"}].
"""

import argparse
import collections
import http.server
import json
import re
import ssl
import subprocess
import tempfile
import threading
import time


class State:
    def __init__(self, text):
        self.text = text
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.log = []

    def next_attempt(self, model, authorization, body):
        with self.lock:
            self.counts[model] += 1
            self.log.append({"model": model, "authorization": authorization, "body": body})
            return self.counts[model]


def count_tokens(text):
    return max(1, len(text) // 4)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: State

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        if self.path != "/log":
            return self.send_json(404, {"error": {"message": f"no such path: {self.path}"}})
        with self.state.lock:
            self.send_json(200, self.state.log)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model = body["model"]
        if self.path != "/v1/chat/completions":
            return self.send_json(404, {"error": {"message": f"no such path: {self.path}"}})
        attempt = self.state.next_attempt(model, self.headers.get("Authorization", ""), body)
        behaviour = getattr(self, "answer_" + model, None)
        if behaviour is None:
            return self.send_json(404, {"error": {"message": f"no such model: {model}", "code": "model_not_found"}})
        self.close_connection = True
        behaviour(body, attempt)

    # Pieces of answers.

    def send_json(self, status, value, headers=()):
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, text in headers:
            self.send_header(name, text)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def send_error_object(self, status, message, code=None, headers=()):
        self.send_json(status, {"error": {"message": message, "type": "error", "param": None, "code": code}}, headers)

    def begin_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def send_bytes(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def send_event(self, value):
        self.send_bytes(b"data: " + (value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n\n")

    def end_body(self):
        self.wfile.write(b"0\r\n\r\n")

    def chunk(self, delta, finish=None):
        return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "mock",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": None}

    def reply_text(self, body):
        return self.state.text or "echo: " + body["messages"][-1]["content"]

    def send_pieces(self, text, pause=0.0):
        size = 1 if pause else 7
        self.send_event(self.chunk({"role": "assistant", "content": ""}))
        for at in range(0, len(text), size):
            self.send_event(self.chunk({"content": text[at:at + size]}))
            if pause:
                time.sleep(pause)

    def send_usage(self, body, text):
        if not body.get("stream_options", {}).get("include_usage"):
            return
        prompt = sum(count_tokens(message["content"]) for message in body["messages"])
        usage = {"prompt_tokens": prompt, "completion_tokens": count_tokens(text), "total_tokens": prompt + count_tokens(text),
                 "prompt_tokens_details": {"cached_tokens": prompt // 2}}
        self.send_event({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "mock", "choices": [], "usage": usage})

    def stream(self, body, text=None, finish="stop", pause=0.0, usage=True, before=()):
        text = self.reply_text(body) if text is None else text
        self.begin_stream()
        for delta in before:
            self.send_event(self.chunk(delta))
        self.send_pieces(text, pause)
        self.send_event(self.chunk({}, finish))
        if usage:
            self.send_usage(body, text)
        self.send_event(b"[DONE]")
        self.end_body()

    # Behaviours.

    def answer_ok(self, body, attempt):
        self.stream(body)

    def answer_rate_limited(self, body, attempt):
        if attempt == 1:
            return self.send_error_object(429, "slow down", "rate_limit_exceeded", [("Retry-After", "0.2")])
        self.stream(body)

    def answer_rate_limited_long(self, body, attempt):
        self.send_error_object(429, "slow down", "rate_limit_exceeded", [("Retry-After", "3600")])

    def answer_server_error(self, body, attempt):
        if attempt <= 2:
            return self.send_error_object(500, "the server had an error")
        self.stream(body)

    def answer_always_500(self, body, attempt):
        self.send_error_object(500, "the server had an error")

    def answer_quota(self, body, attempt):
        self.send_error_object(429, "you exceeded your quota", "insufficient_quota", [("Retry-After", "0.1")])

    def answer_broken_stream(self, body, attempt):
        if attempt == 1:
            self.begin_stream()
            return self.send_pieces("half an answ")
        self.stream(body)

    def answer_always_broken(self, body, attempt):
        self.begin_stream()
        self.send_pieces("half an answ")

    def answer_done_without_end(self, body, attempt):
        self.begin_stream()
        self.send_pieces("half an answ")
        self.send_event(b"[DONE]")
        self.end_body()

    def answer_slow(self, body, attempt):
        self.stream(body, text="slowly", pause=0.05)

    def answer_silent(self, body, attempt):
        self.begin_stream()
        time.sleep(30)

    def answer_malformed(self, body, attempt):
        if attempt == 1:
            self.begin_stream()
            self.send_event(b'{"choices": [{"delta": {"content": ')
            return self.end_body()
        self.stream(body)

    def answer_no_usage(self, body, attempt):
        self.stream(body, usage=False)

    def answer_no_stream_options(self, body, attempt):
        if "stream_options" in body:
            return self.send_json(400, {"error": {"message": "Unrecognized request argument supplied: stream_options", "param": None}})
        self.stream(body)

    def answer_html(self, body, attempt):
        data = b"<html><body>Please log in to the network</body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def answer_not_streaming(self, body, attempt):
        self.send_json(200, {"model": "mock", "usage": {"prompt_tokens": 5, "completion_tokens": 2},
                             "choices": [{"index": 0, "finish_reason": "stop",
                                          "message": {"role": "assistant", "content": "in one piece"}}]})

    def answer_huge(self, body, attempt):
        self.begin_stream()
        while True:
            self.send_event(self.chunk({"content": "x" * 60_000}))

    def answer_length(self, body, attempt):
        self.stream(body, finish="length")

    def answer_filter(self, body, attempt):
        self.stream(body, text="", finish="content_filter")

    def answer_refusal(self, body, attempt):
        self.stream(body, text="", before=[{"refusal": "I cannot "}, {"refusal": "do that."}])

    def answer_reasoning(self, body, attempt):
        self.stream(body, text="42", before=[{"reasoning_content": "let me think "}, {"reasoning": "some more"}])

    def answer_stream_error(self, body, attempt):
        if attempt == 1:
            self.begin_stream()
            self.send_pieces("half")
            self.send_event({"error": {"message": "overloaded", "type": "overloaded_error", "code": None}})
            self.send_event(b"[DONE]")
            return self.end_body()
        self.stream(body)

    def answer_doubling(self, body, attempt):
        block = int(re.findall(r"BLOCK = (\d+)", body["messages"][1]["content"])[-1])
        quoted = "nothing like it" if attempt % 5 == 0 else f"BLOCK = {block}"
        self.stream(body, text=f"Double it.\n\n<<<<<<< SEARCH\n{quoted}\n=======\nBLOCK = {2 * block}\n>>>>>>> REPLACE\n")

    def answer_needs_key(self, body, attempt):
        if self.headers.get("Authorization") != "Bearer right-key":
            return self.send_error_object(401, f"Incorrect API key provided: {self.headers.get('Authorization')}", "invalid_api_key")
        self.stream(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # clients that go away are part of the tests


def make_tls_context():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = f"{folder}/key.pem", f"{folder}/certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)
        context.load_cert_chain(certificate, key)
    return context


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text-file", help="answer with this file's text")
    parser.add_argument("--tls", action="store_true", help="speak HTTPS with a self-signed certificate")
    arguments = parser.parse_args()
    text = None
    if arguments.text_file:
        with open(arguments.text_file, encoding="utf-8") as file:
            text = file.read()
    Handler.state = State(text)
    server = Server(("127.0.0.1", 0), Handler)
    if arguments.tls:
        server.socket = make_tls_context().wrap_socket(server.socket, server_side=True)
    print("port", server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
