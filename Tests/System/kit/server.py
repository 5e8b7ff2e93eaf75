"""A running `squall serve`, servers of threads, and what their clients do."""
import contextlib, http.client, json, signal, socket, subprocess, threading

from .programs import SQUALL, end, ready_port, start

# A proxy that is off for a while gets its port back here: all other programs of the tests take theirs on 127.0.0.1.
OWN_ADDRESS = "127.0.4.4:0"


class Server:
    """`squall serve`, on a free port if none is given; `call` sends it one request."""

    def __init__(self, *options, port=0, **more):
        self.process = start([SQUALL, "serve", "--port", str(port), *options], **{
            "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more})
        self.port = ready_port(self.process)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self.process)

    def stop(self):
        """Ends it by SIGINT; returns its exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=30)
        end(self.process)
        return code

    def exchange(self, method, path, body=None, fields=None):
        """The response with its fields, and its content."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        fields = dict(fields or {})
        connection.putrequest(method, path, skip_accept_encoding=True, skip_host="Host" in fields)
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if content is not None:
            fields["Content-Length"] = str(len(content))
        for name, value in fields.items():
            connection.putheader(name, value)
        connection.endheaders(content)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response, content

    def call(self, method, path, body=None, fields=None):
        """The status, and the value of JSON content."""
        response, content = self.exchange(method, path, body, fields)
        return response.status, json.loads(content) if content[:1] in (b"{", b"[", b"n") else content

    def value(self, method, path, body=None):
        """The value of a response that tells of no error."""
        status, value = self.call(method, path, body)
        if status >= 300:
            raise RuntimeError(f"{method} {path}: {status} {value}")
        return value

    def proxy(self, name, upstream, **more):
        """Makes a proxy on a free port, and returns the address at which it listens."""
        return self.value("POST", "/proxies", {"name": name, "listen": "127.0.0.1:0", "upstream": upstream, **more})["listen"]

    def toxic(self, proxy, **toxic):
        """Adds a toxic."""
        return self.call("POST", f"/proxies/{proxy}/toxics", toxic)


@contextlib.contextmanager
def served(serve):
    """The port of a server: `serve(peer)` runs in a thread for each connection, which is closed after it."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)

    def run(peer):
        with peer, contextlib.suppress(OSError):
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            serve(peer)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                threading.Thread(target=run, args=(peer,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        # Wakes the thread that accepts.
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def send_back(peer):
    """Sends back what comes, until the client ends its stream."""
    while data := peer.recv(1 << 16):
        peer.sendall(data)


@contextlib.contextmanager
def echo():
    """The address of a server that sends back what comes."""
    with served(send_back) as port:
        yield f"127.0.0.1:{port}"


def connected(address):
    """A client of `address`, whose calls take 20 s at most."""
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host.strip("[]"), int(port)), timeout=20)


def received(client, count):
    """The next `count` bytes, or fewer if the stream ends before."""
    data = b""
    while len(data) < count and (more := client.recv(count - len(data))):
        data += more
    return data


def ending(client):
    """How the stream of `client` ends: "end" or "reset"."""
    try:
        while client.recv(1 << 16):
            pass
        return "end"
    except ConnectionResetError:
        return "reset"


def is_silent(client, seconds=0.3):
    """Whether nothing comes for a time: no byte, no end and no reset."""
    before = client.gettimeout()
    client.settimeout(seconds)
    try:
        client.recv(1, socket.MSG_PEEK)
        return False
    except OSError as error:
        return isinstance(error, TimeoutError)
    finally:
        client.settimeout(before)
