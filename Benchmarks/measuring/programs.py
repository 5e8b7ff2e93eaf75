"""The programs of a measurement: the load generators, the backend, and proxies."""
import json, os, random, shlex, shutil, signal, socket, subprocess, sys, tempfile, threading, time

from kit import machine
from kit.programs import ROOT, SQUALL, Failure, end, free_port, need_squall, start  # noqa: F401: for those that import this module

SOURCES = os.path.join(ROOT, "Benchmarks", "load")
BUILT = os.path.join(ROOT, ".build", "bench")
LOADGEN = os.path.join(BUILT, "loadgen")
FORWARD = os.path.join(BUILT, "forward")
OLD = None  # The other binary of Squall, where one is measured beside it.
PARTS = {LOADGEN: ["loadgen", "tools", "backend", "bulk", "connect", "rounds"], FORWARD: ["forward"]}


def compile_generators():
    """Compiles what is not built, or older than a source."""
    os.makedirs(BUILT, exist_ok=True)
    newest = max(os.path.getmtime(os.path.join(SOURCES, name)) for name in os.listdir(SOURCES))
    for built, names in PARTS.items():
        if not os.path.exists(built) or os.path.getmtime(built) < newest:
            sources = [os.path.join(SOURCES, name + ".c") for name in names]
            subprocess.run(["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-o", built, *sources], check=True)


def prepare():
    """Looks for squall, raises the limit of descriptors and compiles the load generators."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # So that what was started is ended.
    need_squall()
    machine.raise_descriptor_limit()
    compile_generators()


class Backend:
    """The server behind every proxy: source, sink and echo."""

    def __init__(self):
        self.port = free_port()
        self.process = start([LOADGEN, "backend", str(self.port)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        if self.process.stdout.readline() != b"ready\n":
            end(self.process)
            raise Failure("the backend does not start")
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self.process)


class Proxy:
    """A proxy at work in front of a backend. `peer` has its command and its files, see peers.py."""

    def __init__(self, peer, backend_port):
        self.peer, self.process, self.pid, self.folder = peer, None, None, None
        self.port = backend_port
        if not peer.command:
            return
        self.folder = tempfile.mkdtemp(prefix="squall-bench-")
        for attempt in range(3):
            if self._begin(backend_port):
                return
        with open(os.path.join(self.folder, "errors")) as file:
            text = file.read().strip()[-300:]
        self.close()
        raise Failure(f"{peer.name} does not start: {text}")

    def _begin(self, backend_port):
        self.port = free_port()
        self.control = free_port()
        words = {"listen": self.port, "upstream": backend_port, "control": self.control, "folder": self.folder,
                 "squall": SQUALL, "old": OLD, "forward": FORWARD, "connections": (machine.raise_descriptor_limit() - 1_000) // 2}
        for name, text in self.peer.files.items():
            with open(os.path.join(self.folder, name), "w") as file:
                file.write(fill(text, words))
        with open(os.path.join(self.folder, "errors"), "wb") as errors:
            self.process = start(shlex.split(fill(self.peer.command, words)), cwd=self.folder, stderr=errors,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.pid = self.process.pid
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and self.process.poll() is None:
            if machine.is_listening(self.port):
                return True
            time.sleep(0.02)
        end(self.process)
        return False

    def processor_seconds(self):
        return machine.processor_seconds(self.pid, self.peer.family) if self.pid else 0.0

    def resident_bytes(self):
        return machine.resident_bytes(self.pid, self.peer.family) if self.pid else 0

    def descriptors(self):
        return machine.descriptors(self.pid, self.peer.family) if self.pid else 0

    def pin(self, processors):
        for pid in machine.family(self.pid) if self.pid else []:
            machine.pin(pid, processors)

    def close(self):
        end(self.process)
        self.process = None
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def fill(text, words):
    """Puts values in the place of {words}; other braces stay."""
    for word, value in words.items():
        text = text.replace("{" + word + "}", str(value))
    return text


def load(*arguments, processors=None, patience=120):
    """Runs a load generator to its end, and gives what it found."""
    process = start([LOADGEN, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE)
    if processors:
        machine.pin(process.pid, processors)
    try:
        out, errors = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        raise Failure(f"{' '.join(map(str, arguments))}: not done after {patience} s") from None
    finally:
        end(process)
    if process.returncode != 0:
        raise Failure(f"{' '.join(map(str, arguments))}: {errors.decode().strip()[-200:]}")
    return json.loads(out)


class Session:
    """A load generator that goes on beside others: `idle`, or `rounds` until it is told to end."""

    def __init__(self, *arguments, patience=120):
        self.process = start([LOADGEN, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        self.patience = patience
        self.answer()

    def answer(self):
        """The next line; a generator that keeps silent is ended."""
        watch = threading.Timer(self.patience, self.process.kill)
        watch.start()
        line = self.process.stdout.readline()
        watch.cancel()
        if not line:
            raise Failure(f"a load generator ended: {self.process.stderr.read().strip()[-200:]}")
        return line

    def tell(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return self.answer()

    def finish(self):
        """Ends its input, and gives the line that it says then."""
        self.process.stdin.close()
        line = self.answer()
        self.process.stdin = None
        return json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            end(self.process)
        except BrokenPipeError:
            pass


class Reports:
    """A load generator that reports as it goes: what it says is kept until it is taken."""

    def __init__(self, *arguments):
        self.process = start([LOADGEN, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                self.lines.append(json.loads(line))

    def take(self):
        """What was said since the last time."""
        taken, self.lines = self.lines, []
        return taken

    def is_running(self):
        return self.process.poll() is None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.reader.join(5)
        end(self.process)


def echoes(port, size=4 << 20):
    """Whether so many bytes come back through a proxy as they were sent."""
    data = random.Random(size).randbytes(size)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        sender = threading.Thread(target=connection.sendall, args=(b"E".ljust(16, b"\0") + data,), daemon=True)
        sender.start()
        back = bytearray()
        while len(back) < size:
            piece = connection.recv(1 << 20)
            if not piece:
                return False
            back += piece
        sender.join(5)
    return bytes(back) == data
