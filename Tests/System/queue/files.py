"""An HTTP server of files, which counts what it sends of each, and a relay that counts what passes; both limit the rate."""
import contextlib, hashlib, random, re, socket, threading, time

from kit import web

CHUNK = 16 << 10


class Files(contextlib.ExitStack):
    """Files by path, with ranges. Some are given only for a value of Authorization, or for a query."""

    def __init__(self, rate=0, host="127.0.0.1"):
        super().__init__()
        self.rate, self.bodies, self.sent, self.requests = rate, {}, {}, {}
        self.authorizations, self.signatures, self.lock = {}, {}, threading.Lock()
        owner = self

        class Handler(web.Handler):
            def setup(self):
                self.request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 10)
                super().setup()

            def do_GET(self):
                owner.answer(self)

            do_HEAD = do_GET

        self.port = self.enter_context(web.served(Handler, host=host))

    def add(self, path, size):
        """Adds a file; returns its SHA-256."""
        self.bodies[path] = random.Random(path).randbytes(size)
        self.sent[path] = 0
        self.requests[path] = []
        return hashlib.sha256(self.bodies[path]).hexdigest()

    def answer(self, request):
        path, _, query = request.path.partition("?")
        span = [0, 0]  # What it gets: from this byte, and to that.
        self.requests[path].append(span)
        body = self.bodies[path]
        status = 200
        if path in self.authorizations and request.headers.get("Authorization") != self.authorizations[path]:
            status, body = 401, b"who?"
        elif path in self.signatures and query != self.signatures[path]:
            status, body = 403, b"expired"
        first = 0
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("Range", ""))
        if status == 200 and asked and int(asked[1]) < len(body):
            status, first = 206, int(asked[1])
        end = min(int(asked[2]) + 1, len(body)) if status == 206 and asked[2] else len(body)
        request.send_response(status)
        if status == 206:
            request.send_header("Content-Range", f"bytes {first}-{end - 1}/{len(body)}")
        if status < 300:
            request.send_header("ETag", f'"{hashlib.md5(body).hexdigest()}"')
            request.send_header("Accept-Ranges", "bytes")
        request.send_header("Content-Length", str(end - first))
        request.end_headers()
        if request.command == "HEAD":
            return
        span[:] = first, first
        while first < end:
            part = body[first:min(first + CHUNK, end)]
            request.wfile.write(part)
            with self.lock:
                self.sent[path] += len(part)
            first += len(part)
            span[1] = first
            if self.rate:
                time.sleep(len(part) / self.rate)

    def repeated(self, path):
        """The bytes that each further request got although they had been sent before."""
        reached, found = 0, []
        for first, end in self.requests[path]:
            if reached:
                found.append(max(0, min(reached, end) - first))
            reached = max(reached, end)
        return found

    def url(self, path, host="127.0.0.1"):
        return f"http://{host}:{self.port}{path}"


class Relay:
    """Passes connections on to a port, each with a limited rate, and counts the bytes to it."""

    def __init__(self, upstream, rate):
        self.upstream, self.rate, self.count, self.lock = upstream, rate, 0, threading.Lock()
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
        self.listener.bind(("127.0.0.2", 0))
        self.listener.listen(128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(("127.0.0.1", self.upstream))
            threading.Thread(target=self.pass_on, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.pass_on, args=(server, client, False), daemon=True).start()

    def pass_on(self, source, sink, counts):
        try:
            while part := source.recv(CHUNK):
                sink.sendall(part)
                if counts:
                    with self.lock:
                        self.count += len(part)
                    time.sleep(len(part) / self.rate)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
