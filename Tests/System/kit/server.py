"""A running `squall serve`, an echo server, and requests to both."""
import contextlib, http.client, json, signal, socket, subprocess, threading

from .programs import SQUALL

# A proxy that is off for a while gets its port back here: all other programs of the tests take theirs on 127.0.0.1.
OWN_ADDRESS = "127.0.4.4:0"


class Server:
    """`squall serve` on a free port; `call` sends it one request."""

    def __init__(self, *options, program=SQUALL, arguments=("serve", "--port", "0")):
        self.process = subprocess.Popen(
            [program, *arguments, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        if not line.startswith("ready: http://"):
            _, problem = self.process.communicate()
            raise RuntimeError(f"no ready line: {line!r} {problem}")
        self.port = int(line.split()[1].rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Stops it; returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=30)
        self.process.stdout.close()
        self.process.stderr.close()
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

    def proxy(self, name, upstream, **more):
        """Makes a proxy on a free port, and returns the address at which it listens."""
        status, made = self.call("POST", "/proxies", {"name": name, "listen": "127.0.0.1:0", "upstream": upstream, **more})
        if status != 201:
            raise RuntimeError(f"{status} {made}")
        return made["listen"]

    def toxic(self, proxy, **toxic):
        """Adds a toxic."""
        return self.call("POST", f"/proxies/{proxy}/toxics", toxic)


@contextlib.contextmanager
def echo():
    """The address of a server that sends back what it receives, until the client ends its stream."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)

    def serve(peer):
        with peer, contextlib.suppress(OSError):
            while data := peer.recv(1 << 16):
                peer.sendall(data)
            peer.shutdown(socket.SHUT_WR)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                threading.Thread(target=serve, args=(peer,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield "127.0.0.1:%d" % listener.getsockname()[1]
    finally:
        # Wakes the thread that accepts.
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


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
    """Whether nothing comes for a time."""
    client.settimeout(seconds)
    try:
        client.recv(1)
        return False
    except TimeoutError:
        return True
    finally:
        client.settimeout(20)
