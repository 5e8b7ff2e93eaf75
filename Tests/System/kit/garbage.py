"""Requests to the control server, valid and broken ones, by a seed: JSON of both APIs, heads, framing and plain bytes.

Proxies listen on loopback and on Unix sockets in the server's own folder; upstreams are there as well."""
import json, random, re
from urllib.parse import quote

import fuzz

PROXIES = [f"p{number}" for number in range(8)]
FAULTS = ["f0", "f1", "f2", "wifi off", "ü"]
TOXICS = ["t0", "t1", "t2", "latency_downstream"]
PROFILES = ["q0", "q1", "q2"]
SHIPPED = ["wifi-roam", "lte", "no-such-profile"]
TOXIC_TYPES = {"latency": ["latency", "jitter"], "bandwidth": ["rate"], "slow_close": ["delay"], "timeout": ["timeout"],
               "reset_peer": ["timeout"], "slicer": ["average_size", "size_variation", "delay"],
               "limit_data": ["bytes"], "noop": [], "nothing": ["x"]}
ODD = [None, True, False, 0, -1, 1, 2, 255, 65_536, 2**31, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -2**63, 10**400, 0.5,
       1.5, -0.0, 1e308, 5e-324, "", " ", "\0", "a" * 300, "ü" * 129, "\ud800", "\u202e", "\r\nX: y", "1 ns", "3 s", "50 %",
       "9223372036854775807 ns", "9223372036854775807 B", "1e9 s", "../../x", "%2e%2e/", "/", "{}", "null", [], {}, [[]],
       {"": {}}, [None] * 300, {"kind": "latency"}]
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "X" * 60]
HEADERS = [b"Host:", b"Host: a b", b"Host: 127.0.0.1", b": x", b"A", b"A b: c", b"A : c", b" A: c", b"A: \0", b"A: \xff\xfe",
           b"Content-Length: -1", b"Content-Length: +2", b"Content-Length: 2, 2", b"Content-Length: 0x2",
           b"Content-Length: 99999999999999999999", b"Content-Length: 18446744073709551615", b"Content-Length: 50",
           b"Content-Length:", b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked",
           b"Transfer-Encoding: chunked, gzip", b"Transfer-Encoding: \x0bchunked", b"Transfer-Encoding: identity",
           b"Connection: close", b"Connection: upgrade", b"Connection: close, keep-alive", b"Upgrade: websocket",
           b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA", b"Expect: 100-continue", b"Expect: x",
           b"Origin: http://example.org", b"Origin: null", b"Sec-Fetch-Site: cross-site", b"User-Agent: Mozilla/5.0",
           b"Last-Event-ID: 1", b"Last-Event-ID: -1", b"Last-Event-ID: 18446744073709551615", b"Range: bytes=0-1",
           b"If-Match: *", b"Accept-Encoding: gzip", b"Authorization: Bearer x", b"Authorization:", b"Cookie: a=b",
           b"Content-Encoding: gzip", b"Content-Type: text/plain", b"Content-Type: \"", b"TE: trailers", b"Trailer: X",
           b"X: " + b"a" * 7_000, b"X: " + b"a" * 70_000, b"\r\n".join(b"X%d: y" % number for number in range(400))]
VERSIONS = ["HTTP/1.1"] * 6 + ["HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "HTTP/0.9", "http/1.1", "HTTP/1.1 ", "", "HTTP/11.1"]
GREETINGS = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", b"\x16\3\1\2\0\1\0\1\xfc\3\3" + bytes(200), b"SSH-2.0-x\r\n",
             b"\r\n" * 50, b"\n" * 5_000, b"\0" * 2_000, b"GET", b"GET /", b"*1\r\n$4\r\nPING\r\n", b"\xef\xbb\xbfGET / HTTP/1.1\r\n\r\n",
             b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000]
KINDS = {"json": 22, "target": 10, "head": 8, "chunked": 6, "broken": 6, "cut short": 4, "bytes": 3, "slow": 2, "framing": 2.5,
         "large": 0.2, "stream": 0.3}


class Exchange:
    """What is sent on one connection. `ending` is: read, once every response is due; half, read until the other side
    ends; close or reset."""

    def __init__(self, kind, pieces, methods, ending, pauses=0.0):
        self.kind, self.pieces, self.methods, self.ending, self.pauses = kind, pieces, methods, ending, pauses


class Garbage:
    """Exchanges by a seed. `ports` has those of the API, of an echo server and of listeners to fight about."""

    def __init__(self, seed, ports):
        self.random = random.Random(seed)
        self.number, self.seed = 0, seed
        here = [f"127.0.0.1:{port}" for port in ports["shared"]]
        own = [f"unix:s{number}" for number in range(4)]
        wrong = ["", "x", ":", "127.0.0.1", "127.0.0.1:65536", "127.0.0.1:-1", "[::1", "unix:", "unix:/", "unix:@", "a b:1",
                 "unix:" + "s" * 120]
        self.authority = f"127.0.0.1:{ports['api']}"
        self.good = {"listen": ["127.0.0.1:0"] * 6 + ["[::1]:0", "localhost:0"],
                     "upstream": [f"127.0.0.1:{ports['echo']}"] * 4 + ["127.0.0.1:1", "[::1]:1", f"localhost:{ports['echo']}"]}
        self.odd = {"listen": here + own + wrong + [self.authority], "upstream": here + own + wrong + [self.authority]}
        self.addresses = {text for lists in (self.good, self.odd) for texts in lists.values() for text in texts}

    def pick(self, values):
        return self.random.choice(values)

    def maybe(self, chance):
        return self.random.random() < chance

    def address(self, key):
        return self.pick(self.good[key] if self.maybe(0.8) else self.odd[key])

    # Bodies

    def fault(self):
        self.number += 1
        return fuzz.Maker(f"{self.seed}/fault", self.number).fault()

    def profile(self, name=None):
        self.number += 1
        profile = fuzz.Maker(f"{self.seed}/profile", self.number).profile()
        profile["faults"] = profile["faults"][:8]
        if name:
            profile["name"] = name
        return profile

    def profile_or_name(self):
        return self.profile() if self.maybe(0.5) else self.pick(PROFILES + SHIPPED)

    def toxic(self):
        kind = self.pick(list(TOXIC_TYPES))
        values = [0, 1, 10, 1_000, 65_536, 2**31, 2**53]
        toxic = {"type": kind, "attributes": {name: self.pick(values) for name in TOXIC_TYPES[kind]}}
        for key, choices in (("name", TOXICS), ("stream", ["upstream", "downstream", "UPSTREAM"]), ("toxicity", [0, 0.5, 1, 1e-9])):
            if self.maybe(0.6):
                toxic[key] = self.pick(choices)
        return toxic

    def proxy(self, name=None, is_toxiproxy=False):
        proxy = {"name": name or self.pick(PROXIES), "listen": self.address("listen"), "upstream": self.address("upstream")}
        if self.maybe(0.2):
            proxy["enabled"] = self.maybe(0.7)
        if not is_toxiproxy:
            for key, make in (("seed", lambda: self.pick([0, 1, 2**64 - 1])), ("mode", lambda: self.pick(["0600", "0777", "9", ""])),
                              ("profile", self.profile_or_name), ("faults", lambda: [self.fault() for _ in range(3)])):
                if self.maybe(0.15):
                    proxy[key] = make()
        return proxy

    def usual(self):
        """Proxies to begin with, so that most requests find theirs."""
        return [{"name": name, "upstream": self.good["upstream"][0]} for name in PROXIES]

    def change(self):
        keys = [key for key in ("listen", "upstream") if self.maybe(0.4)]
        return {key: self.address(key) for key in keys} | ({"enabled": self.maybe(0.6)} if self.maybe(0.6) else {})

    def snapshot(self):
        proxies = [self.proxy(name) | {"toxics": [self.toxic() for _ in range(self.pick([0, 0, 2]))]}
                   for name in PROXIES[: self.pick([0, 6, 8])]]
        return {"proxies": proxies, "profiles": {name: self.profile(name) for name in PROFILES[: self.pick([0, 1, 3])]}}

    def clock(self):
        action = {"action": self.pick(["pause", "resume", "restart", "step"])}
        return action | ({"phase": self.pick(["p0", "p1", ""])} if action["action"] == "step" else {})

    def wait(self):
        counter = self.pick(["accepted", "open", "failed", "faults", "bytes"])
        until = f"{counter} {self.pick(['>=', '<', '==', '!='])} {self.pick([0, 1, 2**63 - 1])}"
        return {"until": until, "timeout": "10 ms"} | ({"proxy": self.pick(PROXIES)} if self.maybe(0.5) else {})

    def route(self):
        """A method, a path and a body; None for no body."""
        proxy, fault, toxic = self.pick(PROXIES), quote(self.pick(FAULTS)), self.pick(TOXICS)
        profile, query = self.pick(PROFILES), self.pick(["", "", "?for=1ms", "?for=3s", "?for=25h", "?for=", "?for=%"])
        numbers = self.pick(["", "?limit=3", "?limit=0", "?after=9", f"?proxy={proxy}", "?after=-1", "?samples=100", "?how=reset"])
        number = self.pick([0, 1, 2, 99, 2**64, "x"])
        return self.pick([
            lambda: ("GET", "/version", None), lambda: ("GET", "/proxies", None), lambda: ("GET", f"/proxies/{proxy}", None),
            lambda: ("POST", "/proxies", self.proxy(is_toxiproxy=True)),
            lambda: (self.pick(["POST", "PATCH"]), f"/proxies/{proxy}", self.change()),
            lambda: ("DELETE", f"/proxies/{proxy}", None), lambda: ("GET", f"/proxies/{proxy}/toxics", None),
            lambda: ("POST", f"/proxies/{proxy}/toxics", self.toxic()), lambda: ("POST", f"/proxies/{proxy}/toxics", self.toxic()),
            lambda: (self.pick(["POST", "PATCH"]), f"/proxies/{proxy}/toxics/{toxic}", self.toxic()),
            lambda: (self.pick(["GET", "DELETE"]), f"/proxies/{proxy}/toxics/{toxic}", None),
            lambda: ("POST", "/reset", None),
            lambda: ("POST", "/populate", [self.proxy(name, True) for name in PROXIES[: self.pick([0, 4, 8])]]),
            lambda: ("GET", "/", None), lambda: ("GET", "/metrics", None), lambda: ("GET", "/v1/proxies", None),
            lambda: ("POST", "/v1/proxies", self.proxy()), lambda: ("POST", "/v1/proxies", self.proxy()),
            lambda: ("GET", f"/v1/proxies/{proxy}", None), lambda: ("PATCH", f"/v1/proxies/{proxy}", self.change()),
            lambda: ("DELETE", f"/v1/proxies/{proxy}", None),
            lambda: ("PUT", f"/v1/proxies/{proxy}/profile", self.profile_or_name()),
            lambda: ("DELETE", f"/v1/proxies/{proxy}/profile", None), lambda: ("PUT", "/v1/profile", self.profile_or_name()),
            lambda: ("DELETE", "/v1/profile", None),
            lambda: ("PUT", f"/v1/proxies/{proxy}/faults/{fault}{query}", self.fault()),
            lambda: ("PUT", f"/v1/proxies/{proxy}/faults/{fault}{query}", self.fault()),
            lambda: ("DELETE", f"/v1/proxies/{proxy}/faults/{fault}", None),
            lambda: ("PUT", f"/v1/faults/{fault}{query}", self.fault()), lambda: ("DELETE", f"/v1/faults/{fault}", None),
            lambda: ("POST", f"/v1/proxies/{proxy}/clock", self.clock()), lambda: ("GET", "/v1/profiles", None),
            lambda: ("GET", f"/v1/profiles/{self.pick(PROFILES + SHIPPED)}", None),
            lambda: ("PUT", f"/v1/profiles/{profile}", self.profile(profile)), lambda: ("DELETE", f"/v1/profiles/{profile}", None),
            lambda: ("POST", "/v1/check", self.profile()), lambda: ("GET", f"/v1/journal{numbers}", None),
            lambda: ("GET", f"/v1/connections{numbers}", None),
            lambda: ("DELETE", f"/v1/proxies/{proxy}/connections/{number}{numbers}", None),
            lambda: ("POST", "/v1/wait", self.wait()), lambda: ("GET", "/v1/snapshot", None),
            lambda: ("PUT", "/v1/snapshot", self.snapshot()), lambda: ("GET", "/v1/openapi.json", None)])()

    def mutated(self, value):
        """The value with one part of it changed."""
        if isinstance(value, dict) and value and self.maybe(0.85):
            changed, key = dict(value), self.pick(list(value))
            where = self.random.random()
            if where < 0.5:
                changed[key] = self.mutated(value[key])
            elif where < 0.65:
                del changed[key]
            elif where < 0.8:
                changed[self.pick([key.upper(), key + " ", "", "name", "kind", "ſtream"])] = changed.pop(key)
            else:
                changed[self.pick(["", "x", "faults", "phases", "name", "enabled"])] = self.pick(ODD)
            return changed
        if isinstance(value, list) and value and self.maybe(0.8):
            changed = list(value)
            place = self.random.randrange(len(changed))
            changed[place : place + 1] = self.pick([[self.mutated(changed[place])], [], [changed[place]] * 3])
            return changed
        return self.pick(ODD)

    def body(self, value, path):
        for _ in range(self.pick([0, 0, 0, 1, 1, 2, 4])):
            value = self.mutated(value)
        if path == "/v1/wait" and isinstance(value, dict):
            value["timeout"] = "10 ms"
        is_ascii = self.maybe(0.5) or "\\ud800" in json.dumps(value)
        text = self.safe(json.dumps(value, ensure_ascii=is_ascii).encode())
        if path != "/v1/wait" and self.maybe(0.15):
            text = self.pick([
                lambda: self.flipped(text), lambda: text[: self.random.randrange(len(text) + 1)],
                lambda: text + self.pick([b"}", b"\n\n", b" {}", b"\0", text]), lambda: b"\xef\xbb\xbf" + text,
                lambda: text.replace(b"{", b'{"name":"p1",', 1), lambda: text.decode().encode("utf-16-le"),
                lambda: text.replace(b":", b" :\t\r\n "), lambda: b"[" * self.pick([10, 600, 20_000]), lambda: b"",
                lambda: text.replace(b"0", b"00"), lambda: text.replace(b'"', b"'"), lambda: b"// x\n" + text])()
        return self.safe(text)

    def flipped(self, data):
        data = bytearray(data)
        for _ in range(self.pick([1, 1, 2, 8])):
            place = self.random.randrange(len(data) + 1)
            data[place : place + self.pick([0, 1, 1])] = bytes(self.pick([[], [self.random.randrange(256)]]))
        return bytes(data)

    def safe(self, data):
        """The bytes without a Unix socket outside the server's folder."""
        known = {text.encode() for text in self.addresses}
        return re.sub(rb'unix:[^"]*', lambda found: found[0] if found[0] in known else b"unix:s1", data)

    # Requests

    def request(self, headers=(), method=None, target=None, is_chunked=False):
        """A method and the bytes of a request, whose framing is right as long as `headers` leave it so."""
        made, path, value = self.route()
        body = b"" if value is None else self.body(value, path)
        lines = [f"{method or made} {target or path} HTTP/1.1".encode(), b"Host: " + self.authority.encode(), *headers]
        if is_chunked:
            body, lines = self.chunks(body), lines + [b"Transfer-Encoding: chunked"]
        elif body or self.maybe(0.5):
            lines.append(b"Content-Length: %d" % len(body))
        return method or made, b"\r\n".join(lines) + b"\r\n\r\n" + body

    def chunks(self, body):
        text = b""
        while body:
            size = self.random.randrange(1, len(body) + 1)
            text += b"%x%s\r\n%s\r\n" % (size, self.pick([b"", b"", b";a=b"]), body[:size])
            body = body[size:]
        return text + b"0\r\n" + self.pick([b"", b"", b"X: y\r\n"]) + b"\r\n"

    def target(self):
        _, path, _ = self.route()
        return self.pick([
            lambda: path + self.pick(["/", "//", "?", "#", "%", "%00", "%2f", "/..", "%ff", "?x=%ff", ";a", "?for=3s&for=1s"]),
            lambda: path.replace("/", self.pick(["//", "/./", "/%2e%2e/", "\\"])), lambda: f"http://{self.authority}{path}",
            lambda: "*", lambda: "/" + "a/" * 2_000, lambda: "/v1/proxies/" + "%41" * 1_000, lambda: path.upper(),
            lambda: "/v1/journal?" + "&" * 500 + "limit=1", lambda: "/v1/proxies/" + quote(self.pick(["\0", "ü", "a/b", "\u202e", ""])),
            lambda: "/" + "".join(chr(self.random.randrange(33, 127)) for _ in range(self.random.randrange(40)))])()

    def exchange(self):
        kind = self.random.choices(list(KINDS), list(KINDS.values()))[0]
        return getattr(self, "make_" + kind.replace(" ", "_"))(kind)

    def make_json(self, kind):
        requests = [self.request() for _ in range(self.pick([1, 2, 8, 16]))]
        return Exchange(kind, [b"".join(data for _, data in requests)], [method for method, _ in requests], "read")

    def make_target(self, kind):
        pairs = [self.request(method=self.pick([None] * 6 + METHODS[:6]), target=self.target()) for _ in range(4)]
        # A method that has no body in this parser's eyes ends the certainty of where the next request begins.
        return Exchange(kind, [b"".join(data for _, data in pairs)], [method for method, _ in pairs], "half")

    def make_head(self, kind):
        _, data = self.request(headers=[self.pick(HEADERS) for _ in range(self.pick([1, 1, 2, 5]))], method=self.pick([None] * 9 + METHODS))
        return Exchange(kind, [data.replace(b"HTTP/1.1", self.pick(VERSIONS).encode(), 1)], None, self.pick(["half", "half", "close"]))

    def make_chunked(self, kind):
        _, data = self.request(is_chunked=True)
        if self.maybe(0.5):
            head, _, body = data.partition(b"\r\n\r\n")
            data = head + b"\r\n\r\n" + self.safe(self.pick([self.flipped(body), body[: len(body) // 2], b"ffffffffffffffff\r\n" + body,
                                                             b"-1\r\n" + body, body.replace(b"\r\n", b"\n"), b"2\r\n{}0\r\n\r\n"]))
        return Exchange(kind, [data], None, "half")

    def make_broken(self, kind):
        data = b"".join(self.request()[1] for _ in range(self.pick([1, 3])))
        for _ in range(self.pick([1, 3])):
            data = self.flipped(data)
        return Exchange(kind, [self.safe(data)], None, self.pick(["half", "close"]))

    def make_cut_short(self, kind):
        _, data = self.request()
        return Exchange(kind, [data[: self.random.randrange(len(data))]], None, self.pick(["half", "close", "reset"]))

    def make_bytes(self, kind):
        data = self.random.randbytes(self.pick([1, 10, 300, 5_000])) if self.maybe(0.5) else self.pick(GREETINGS)
        return Exchange(kind, [data], None, self.pick(["half", "close", "reset"]))

    def make_slow(self, kind):
        method, data = self.request()
        places = sorted(self.random.randrange(len(data)) for _ in range(self.pick([1, 3, 8])))
        pieces = [data[low:high] for low, high in zip([0, *places], [*places, len(data)])]
        return Exchange(kind, pieces, [method], self.pick(["read", "half", "close", "reset"]), self.pick([0.01, 0.1, 0.3]))

    def make_framing(self, kind):
        """A length that isn't the body's."""
        made, path, value = self.route()
        body = b"" if value is None else self.body(value, path)
        size = max(0, len(body) + self.pick([-5, -1, 1, 2, 1_000]))
        data = f"{made} {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n".encode() + body
        return Exchange(kind, [data, self.request()[1]], None, self.pick(["half", "close"]))

    def make_large(self, kind):
        path = self.pick(["/proxies", "/populate", "/v1/check", "/v1/snapshot", "/v1/proxies", "/nothing"])
        body = self.pick([
            lambda: b" " * (9 << 20), lambda: b"[" * (1 << 20), lambda: b'{"a":' * (1 << 18), lambda: b'"' + b"\\u0041" * (1 << 19) + b'"',
            lambda: b"9" * (1 << 20), lambda: b'{"name":"x","faults":[' + b'{"kind":"latency","delay":"1 s"},' * 20_000 + b"]}",
            lambda: b"[" + b'{"name":"p1","upstream":"x"},' * 20_000 + b"null]",
            lambda: json.dumps({str(number): number for number in range(100_000)}).encode()])()
        data = f"{self.pick(['POST', 'PUT'])} {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        return Exchange(kind, [data + body], None, "half")

    def make_stream(self, kind):
        query = self.pick(["", "?samples=100", "?samples=10000", "?samples=x", "?samples=99"])
        return Exchange(kind, [f"GET /v1/events{query} HTTP/1.1\r\nHost: a\r\n{self.pick(['', 'Last-Event-ID: 3'])}\r\n\r\n"
                               .replace("\r\n\r\n\r\n", "\r\n\r\n").encode()], ["GET"], self.pick(["first", "close", "reset"]))
