#!/usr/bin/env python3
"""What download tools do with each fault of a server or of the way to it, and whether `squall get` does it right.

    make tools                          every tool that is installed, with a release build
    python3 Tests/System/tools.py --only squall,wget
    python3 Tests/System/tools.py --only squall --row changed

A file of 3 MB is served by raw sockets on the loopback; in most rows the first connection ends after 1 MB. Prints a table,
and a line for each row of `squall get`, which has to be right: the exact file, or an error and no file. Exits 1 if one is not.
"""
import argparse, collections, contextlib, os, random, re, shutil, socket, struct, subprocess, tempfile, threading, time
from concurrent.futures import ThreadPoolExecutor

from kit import programs
from kit.server import served
from kit.verdicts import finish, verdict

SIZE, CUT = 3_000_000, 1_000_000
# What squall may fetch beyond the file where it can go on: what was under way when the connection ended.
WASTE = 400_000
# Seconds that a tool may take in a row, its repetitions included.
PATIENCE = 60
CONTENT = [random.Random(number).randbytes(SIZE) for number in (1, 2)]


class Visit:
    """What a tool has asked for in a row."""

    def __init__(self):
        self.requests, self.sent, self.moments, self.version = 0, 0, [], 0
        self.gone = lambda: None
        self.lock = threading.Lock()


class Server(contextlib.ExitStack):
    """Serves `/TOOL/ROW/file.bin`, each as its row wants it."""

    def __init__(self):
        super().__init__()
        self.visits = collections.defaultdict(Visit)
        self.port = self.enter_context(served(self.serve))

    def serve(self, connection):
        connection.settimeout(PATIENCE)
        with contextlib.suppress(ValueError):
            while self.answer(connection):
                pass

    def answer(self, connection):
        """Answers a request; whether the connection goes on."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = connection.recv(1)
            if not byte:
                return False
            head += byte
        lines = head.decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        fields = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:] if line)}
        path, _, query = target.partition("?")
        visit = self.visits[path]
        with visit.lock:
            number = visit.requests
            # A HEAD is no try of a download.
            visit.requests += method == "GET"
            visit.moments.append(time.monotonic())
        row = path.split("/")[2]
        exchange = Exchange(connection, method, path, query, fields, visit, number)
        return getattr(exchange, "row_" + row.replace("-", "_"))()


class Exchange:
    """One request and its answer."""

    def __init__(self, connection, method, path, query, fields, visit, number):
        self.connection, self.method, self.path, self.query = connection, method, path, query
        self.fields, self.visit, self.number = fields, visit, number
        self.tag = '"v1"'

    def send(self, status, fields, body=b""):
        head = f"HTTP/1.1 {status} Scripted\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.connection.sendall(head.encode() + b"\r\n")
        if self.method != "HEAD":
            for start in range(0, len(body), 65_536):
                piece = body[start:start + 65_536]
                self.connection.sendall(piece)
                with self.visit.lock:
                    self.visit.sent += len(piece)
        return True

    def validators(self):
        return {"ETag": self.tag, "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Accept-Ranges": "bytes"}

    def first(self):
        """The first byte of the range; `None` without one, or when its condition doesn't hold."""
        found = re.match(r"bytes=(\d+)-", self.fields.get("range", ""))
        if not found or self.fields.get("if-range", self.tag) != self.tag:
            return None
        return int(found.group(1))

    def honest(self, content=CONTENT[0]):
        first = self.first()
        if first is None:
            return self.send(200, {**self.validators(), "Content-Length": SIZE}, content)
        if first >= SIZE:
            return self.send(416, {**self.validators(), "Content-Range": f"bytes */{SIZE}", "Content-Length": 0})
        return self.part(first, SIZE - 1, content)

    def part(self, first, last, content=CONTENT[0], more=True):
        fields = {**self.validators(), "Content-Length": last - first + 1}
        if more:
            fields["Content-Range"] = f"bytes {first}-{last}/{SIZE}"
        return self.send(206, fields, content[first:last + 1])

    def cut(self, content=CONTENT[0]):
        """The first connection: the whole is told, and it ends after 1 MB."""
        self.send(200, {**self.validators(), "Content-Length": SIZE}, content[:CUT])
        return False

    @property
    def is_first(self):
        return self.number == 0 and self.method == "GET"

    def row_fin(self):
        return self.cut() if self.is_first else self.honest()

    def row_rst(self):
        if not self.is_first:
            return self.honest()
        self.cut()
        time.sleep(0.2)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def row_ignored(self):
        if self.is_first:
            return self.cut()
        return self.send(200, {**self.validators(), "Content-Length": SIZE}, CONTENT[0])

    def row_changed(self):
        if self.is_first:
            return self.cut()
        self.tag, self.visit.version = '"v2"', 1
        return self.honest(CONTENT[1])

    def row_early(self):
        first = self.first()
        if self.is_first or not first or first >= SIZE:
            return self.row_fin()
        return self.part(max(0, first - 4_096), SIZE - 1)

    def row_unnamed(self):
        first = self.first()
        if self.is_first or not first or first >= SIZE:
            return self.row_fin()
        return self.part(first, SIZE - 1, more=False)

    def row_short(self):
        first = self.first()
        if self.number != 1 or not first:
            return self.row_fin()
        return self.part(first, min(SIZE - 1, first + 499_999))

    def row_weak(self):
        self.tag = 'W/"v1"'
        return self.row_fin()

    def later(self, status):
        if self.number != 1:
            return self.row_fin()
        return self.send(status, {"Retry-After": 2, "Content-Length": 0})

    def row_s503(self):
        return self.later(503)

    def row_s429(self):
        return self.later(429)

    def row_stall(self):
        if not self.is_first:
            return self.honest()
        self.cut()
        # Until the tool gives the connection up.
        self.connection.recv(1)
        return False

    def row_complete(self):
        return self.honest()

    def row_redirect(self):
        mirror = "ab"[self.number % 2]
        location = self.path.replace("/redirect/", f"/mirror-{mirror}/")
        return self.send(302, {"Location": location, "Content-Length": 0})

    def row_mirror_a(self):
        self.tag = '"a"'
        return self.row_fin()

    def row_mirror_b(self):
        self.tag = '"b"'
        return self.row_fin()

    def row_signed(self):
        if self.is_first:
            return self.cut()
        if self.query == "signature=1":
            return self.send(403, {"Content-Length": 0})
        return self.honest()

    def row_dead(self):
        """The client asks again at once, so the mirror is gone before the connection ends."""
        self.cut()
        self.visit.gone()
        return False


def again(command, statuses=(0,), most=5):
    """Runs a command until it ends well, as a person does, or ends as before without getting anywhere."""
    for _ in range(most):
        status = run(command)
        if status in statuses:
            return status
    return status


def run(command):
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=PATIENCE).returncode
    except subprocess.TimeoutExpired:
        return "time"


def squall(url, out):
    return run([programs.SQUALL, "get", url, "--output", out, "--events", "json"])


TOOLS = {
    "curl -C - (loop)": ("curl", lambda url, out: again(
        ["curl", "-sS", "-f", "-y", "3", "-Y", "1000", "-C", "-", "-o", out, url])),
    "curl --retry -C -": ("curl", lambda url, out: run(
        ["curl", "-sS", "-f", "-y", "3", "-Y", "1000", "--retry", "5", "--retry-all-errors", "-C", "-", "-o", out, url])),
    "wget -c": ("wget", lambda url, out: run(
        ["wget", "-q", "-c", "-t", "5", "-T", "3", "--waitretry=1", "--retry-on-http-error=503,429", "-O", out, url])),
    "aria2": ("aria2c", lambda url, out: run(
        ["aria2c", "-q", "-c", "-x1", "-s1", "-m5", "--retry-wait=1", "--timeout=3", "--lowest-speed-limit=1K",
         "--file-allocation=none", "-d", os.path.dirname(out), "-o", os.path.basename(out), url])),
    "rclone copyurl": ("rclone", lambda url, out: run(
        ["rclone", "copyurl", "--config", "/dev/null", "--retries", "5", "--timeout", "3s", url, out])),
    "squall get": (programs.SQUALL, squall),
}
ROWS = {
    "fin": "connection closed (FIN)", "rst": "connection reset (RST)", "ignored": "range ignored (200)",
    "changed": "file changed, server honours If-Range", "early": "206 starts 4,096 bytes early",
    "unnamed": "206 without Content-Range", "short": "206 shorter than asked", "weak": "weak ETag",
    "s503": "503, Retry-After 2", "s429": "429, Retry-After 2", "stall": "stall", "complete": "already complete",
}
# Where squall has to go on; elsewhere it has to start over, or may.
RESUMED = {"fin", "rst", "early", "short", "s503", "s429", "stall"}


def measure(server, folder, tool, row):
    """Runs a tool in a row: its exit status, whether the file is right, wrong or missing, and what was asked."""
    name = f"{list(TOOLS).index(tool)}"
    path = f"/{name}/{row}/file.bin"
    out = os.path.join(folder, f"{name}-{row}.bin")
    if row == "complete":
        with open(out, "wb") as file:
            file.write(CONTENT[0])
    status = TOOLS[tool][1](f"http://127.0.0.1:{server.port}{path}", out)
    visit = server.visits[path]
    found = "missing"
    if os.path.exists(out):
        with open(out, "rb") as file:
            found = "right" if file.read() == CONTENT[visit.version] else "wrong"
    return status, found, visit


def cell(row, status, found, visit):
    if status == 0 and found != "right":
        return f"**rc 0, {found}**"
    if status != 0:
        return f"rc {status}"
    resumed = visit.sent < SIZE + CUT // 2
    text = "ok" if resumed or row in ("complete", "changed") else "ok, from 0"
    if row in ("s503", "s429") and len(visit.moments) > 2:
        text += f", after {visit.moments[2] - visit.moments[1]:.1f} s"
    return text


def judge(row, status, found, visit):
    more = visit.sent - SIZE
    facts = f"exit code {status}, file {found}, {visit.requests} requests, {more:+,} bytes beyond the file"
    holds = status == 0 and found == "right"
    if row in RESUMED:
        holds = holds and more <= WASTE
    if row in ("s503", "s429"):
        wait = visit.moments[2] - visit.moments[1] if len(visit.moments) > 2 else 0
        facts += f", waited {wait:.1f} s"
        holds = holds and wait >= 2
    verdict(row, holds, f"{ROWS[row]}: {facts}")


def mirrors(server, folder):
    """A redirector that sends each request to the other of two mirrors, whose tags differ."""
    out = os.path.join(folder, "mirrors.bin")
    status = squall(f"http://127.0.0.1:{server.port}/x/redirect/file.bin", out)
    right = os.path.exists(out) and open(out, "rb").read() == CONTENT[0]
    sent = sum(server.visits[f"/x/mirror-{name}/file.bin"].sent for name in "ab")
    verdict("mirrors", status == 0 and right and sent <= SIZE + WASTE,
            f"a redirector with two mirrors: exit code {status}, file right: {right}, {sent - SIZE:+,} bytes beyond it")


def signed(server, folder):
    """A URL whose signature has expired, and one that was signed anew."""
    out, url = os.path.join(folder, "signed.bin"), f"http://127.0.0.1:{server.port}/x/signed/file.bin"
    before = squall(f"{url}?signature=1", out)
    status = squall(f"{url}?signature=2", out)
    right = os.path.exists(out) and open(out, "rb").read() == CONTENT[0]
    sent = server.visits["/x/signed/file.bin"].sent
    verdict("signed", before != 0 and status == 0 and right and sent <= SIZE + WASTE,
            f"a URL that was signed anew: exit codes {before} and {status}, file right: {right}, "
            f"{sent - SIZE:+,} bytes beyond it")


def dead(folder):
    """A mirror that is gone after the first megabyte."""
    mirror, out = Server(), os.path.join(folder, "dead.bin")
    path = "/x/dead/file.bin"
    mirror.visits[path].gone = mirror.close
    url = f"http://127.0.0.1:{mirror.port}{path}"
    status = run([programs.SQUALL, "get", url, "--output", out, "--attempts", "3"])
    part = os.path.join(folder, ".dead.bin.squall-part")
    held = os.path.getsize(part) if os.path.exists(part) else 0
    verdict("dead", status == 75 and held == CUT and not os.path.exists(out),
            f"a mirror that is gone: exit code {status}, {held:,} bytes are kept")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="only tools with one of these words in their names, with commas between")
    parser.add_argument("--row", help="only this row: " + ", ".join(ROWS))
    options = parser.parse_args()
    programs.need_squall()
    words = options.only.split(",") if options.only else [""]
    tools = [name for name in TOOLS if any(word in name for word in words)]
    rows = [options.row] if options.row else list(ROWS)
    folder = tempfile.mkdtemp(prefix="squall-tools-")
    server = Server()
    try:
        present = [name for name in tools if shutil.which(TOOLS[name][0])]
        with ThreadPoolExecutor(8) as pool:
            running = {(tool, row): pool.submit(measure, server, folder, tool, row) for row in rows for tool in present}
        found = {key: future.result() for key, future in running.items()}
        print("| fault | " + " | ".join(tools) + " |")
        print("|---" * (len(tools) + 1) + "|")
        for row in rows:
            cells = (cell(row, *found[tool, row]) if tool in present else "not installed" for tool in tools)
            print(f"| {ROWS[row]} | " + " | ".join(cells) + " |")
        print()
        if "squall get" in present:
            for row in rows:
                judge(row, *found["squall get", row])
            if not options.row:
                mirrors(server, folder)
                signed(server, folder)
                dead(folder)
        for name in tools:
            if name not in present:
                print(f"note  {name} is not installed")
    finally:
        server.close()
        shutil.rmtree(folder)
    finish()


if __name__ == "__main__":
    main()
