"""Busy connections through a proxy to an echo server, in a process of their own, with a digest at each end."""
import hashlib, multiprocessing, random, select, socket, time

PATTERN = random.Random(1).randbytes(1 << 16) * 2
CHUNK, AHEAD, CHUNKS_A_SECOND = 2_048, 16_384, 5
PATIENCE = 120  # Seconds for the last bytes.


class End:
    """A socket at either end."""

    def __init__(self, connection):
        self.socket, self.watched, self.is_over, self.problem = connection, select.EPOLLIN, False, None
        self.digest = hashlib.sha256()  # Of the bytes received.
        connection.setblocking(False)

    def attempt(self, action, *arguments):
        try:
            action(*arguments)
        except BlockingIOError:
            pass
        except OSError as problem:
            self.problem = str(problem)


class Client(End):
    """Sends a stream of its own, and gets it back."""

    def __init__(self, number, port):
        super().__init__(socket.create_connection(("127.0.0.1", port)))
        self.start, self.sent, self.received, self.sent_digest = number * 977, 0, 0, hashlib.sha256()

    def send(self):
        if self.sent - self.received >= AHEAD:
            return
        start = (self.start + self.sent) % (1 << 16)
        count = self.socket.send(PATTERN[start:start + CHUNK])
        self.sent_digest.update(PATTERN[start:start + count])
        self.sent += count

    def receive(self):
        data = self.socket.recv(1 << 16)
        self.is_over = not data
        self.digest.update(data)
        self.received += len(data)

    def ready(self, events):
        self.attempt(self.receive)
        return None if self.is_over else select.EPOLLIN

    def result(self):
        if self.problem or not self.is_over:
            return self.problem or "the end didn't come"
        if self.received != self.sent:
            return f"{self.received} of {self.sent} bytes came back"
        return None if self.digest.digest() == self.sent_digest.digest() else "other bytes came back"


class Echo(End):
    """The server's end of a connection."""

    def __init__(self, connection):
        super().__init__(connection)
        self.waiting, self.has_ended = bytearray(), False

    def receive(self):
        data = self.socket.recv(1 << 16)
        self.has_ended = not data
        self.digest.update(data)
        self.waiting += data

    def send(self):
        while self.waiting:
            del self.waiting[:self.socket.send(self.waiting)]
        if self.has_ended:
            self.socket.shutdown(socket.SHUT_WR)
            self.is_over = True

    def ready(self, events):
        if events & ~select.EPOLLOUT:
            self.attempt(self.receive)
        self.attempt(self.send)
        if self.is_over:
            return None
        return (0 if self.has_ended else select.EPOLLIN) | (select.EPOLLOUT if self.waiting else 0)


class Traffic:
    """Both ends of `count` connections."""

    def __init__(self, pipe, count):
        self.pipe, self.count, self.poll, self.ends, self.turn = pipe, count, select.epoll(), {}, 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=4_096)
        pipe.send(self.listener.getsockname()[1])
        port = pipe.recv()
        self.poll.register(self.listener, select.EPOLLIN)
        self.clients = [self.add(Client(number, port)) for number in range(count)]
        self.echoes = []
        while len(self.echoes) < count:
            self.look()
        self.poll.register(pipe, select.EPOLLIN)
        pipe.send("connected")

    def add(self, end):
        self.ends[end.socket.fileno()] = end
        self.poll.register(end.socket, select.EPOLLIN)
        return end

    def look(self):
        """Lets every end that is ready go on; returns whether the pipe has a word."""
        has_word = False
        for descriptor, events in self.poll.poll(0.005):
            if descriptor == self.listener.fileno():
                self.echoes.append(self.add(Echo(self.listener.accept()[0])))
            elif descriptor == self.pipe.fileno():
                has_word = True
            else:
                end = self.ends[descriptor]
                watched = end.ready(events)
                if watched is None or end.problem:
                    self.poll.unregister(end.socket)
                elif watched != end.watched:
                    self.poll.modify(end.socket, watched)
                    end.watched = watched
        return has_word

    def run(self):
        """Sends until the pipe has a word, then waits for the last byte."""
        start = time.monotonic()
        while not self.look():
            due = int((time.monotonic() - start) * self.count * CHUNKS_A_SECOND)
            for number in range(max(self.turn, due - self.count), due):
                client = self.clients[number % self.count]
                if not client.is_over and not client.problem:
                    client.attempt(client.send)
            self.turn = due
        self.poll.unregister(self.pipe)
        for client in self.clients:
            client.attempt(client.socket.shutdown, socket.SHUT_WR)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and not all(end.is_over or end.problem for end in self.ends.values()):
            self.look()
        problems = [problem for client in self.clients if (problem := client.result())]
        received = sorted(echo.digest.digest() for echo in self.echoes)
        if received != sorted(client.sent_digest.digest() for client in self.clients):
            problems.append("other bytes came to the server")
        self.pipe.send((problems, sum(client.received for client in self.clients)))


def serve(pipe, count):
    Traffic(pipe, count).run()


class Busy:
    """`count` connections, each of which sends chunks and gets them back."""

    def __init__(self, count):
        self.pipe, other = multiprocessing.Pipe()
        multiprocessing.Process(target=serve, args=(other, count), daemon=True).start()
        self.upstream = self.pipe.recv()

    def begin(self, port):
        """Connects through the proxy at `port`; returns when every connection has come to the server."""
        self.pipe.send(port)
        self.pipe.recv()

    def end(self):
        """Ends every connection; returns the problems, and the bytes that came back."""
        self.pipe.send("end")
        return self.pipe.recv()
