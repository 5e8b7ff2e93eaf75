#!/usr/bin/env python3
"""What the client libraries of Toxiproxy rely on, checked on the built command.

    SQUALL=.build/debug/squall python3 Tests/System/control/toxiproxy_contract.py
"""
import contextlib, json, os, socket, sys, tempfile, time, unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.programs import Failure
from kit.server import OWN_ADDRESS, Server, connected, echo, ending, is_silent, received

ATTRIBUTES = {
    "latency": {"latency": 0, "jitter": 0},
    "bandwidth": {"rate": 0},
    "slow_close": {"delay": 0},
    "timeout": {"timeout": 0},
    "reset_peer": {"timeout": 0},
    "slicer": {"average_size": 0, "size_variation": 0, "delay": 0},
    "limit_data": {"bytes": 0},
    "noop": {},
}


class Contract(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Server("--seed", "7"))
        cls.upstream = cls.enterClassContext(echo())

    def tearDown(self):
        for name in self.server.call("GET", "/proxies")[1]:
            self.server.call("DELETE", f"/proxies/{name}")

    def test_01_enabled_may_be_null(self):
        status, proxy = self.server.call(
            "POST", "/proxies", {"name": "a", "listen": "127.0.0.1:0", "upstream": self.upstream, "enabled": None}
        )
        self.assertEqual((status, proxy["enabled"]), (201, True))

    def test_02_requests_without_a_length(self):
        self.server.proxy("a", self.upstream)
        for request in ("POST /reset", "DELETE /proxies/a"):
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as client:
                client.sendall(f"{request} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                self.assertTrue(client.recv(100).startswith(b"HTTP/1.1 204 "), request)

    def test_03_form_content_type(self):
        status, _ = self.server.call(
            "POST", "/proxies", {"name": "a", "listen": "127.0.0.1:0", "upstream": self.upstream},
            {"Content-Type": "application/x-www-form-urlencoded"},
        )
        self.assertEqual(status, 201)

    def test_04_patch_and_post_update(self):
        address = self.server.proxy("a", self.upstream, listen=OWN_ADDRESS)
        self.server.toxic("a", type="latency")
        for method in ("PATCH", "POST"):
            status, proxy = self.server.call(method, "/proxies/a", {"enabled": False})
            self.assertEqual((status, proxy["enabled"]), (200, False))
            with self.assertRaises(ConnectionRefusedError):
                connected(address)
            status, proxy = self.server.call(method, "/proxies/a", {"enabled": True})
            self.assertEqual((status, proxy["listen"], len(proxy["toxics"])), (200, address, 1))
            connected(address).close()
            status, toxic = self.server.call(method, "/proxies/a/toxics/latency_downstream", {"attributes": {"jitter": 3}})
            self.assertEqual((status, toxic["attributes"]), (200, {"latency": 0, "jitter": 3}))

    def test_05_statuses(self):
        body = {"name": "a", "listen": "127.0.0.1:0", "upstream": self.upstream}
        self.assertEqual(self.server.call("POST", "/proxies", body)[0], 201)
        self.assertEqual(self.server.toxic("a", type="latency")[0], 200)
        self.assertEqual(self.server.call("POST", "/populate", [])[0], 201)
        self.assertEqual(self.server.call("DELETE", "/proxies/a/toxics/latency_downstream"), (204, b""))
        self.assertEqual(self.server.call("POST", "/reset", b"garbage"), (204, b""))
        self.assertEqual(self.server.call("DELETE", "/proxies/a"), (204, b""))

    def test_06_errors_are_json(self):
        address = self.server.proxy("a", self.upstream)
        self.server.toxic("a", type="latency")
        proxy = {"name": "b", "upstream": self.upstream}
        cases = [
            ("GET", "/proxies/x", None, 404, "proxy not found"),
            ("POST", "/proxies/x", {}, 404, "proxy not found"),
            ("DELETE", "/proxies/x", None, 404, "proxy not found"),
            ("GET", "/proxies/x/toxics", None, 404, "proxy not found"),
            ("GET", "/proxies/a/toxics/x", None, 404, "toxic not found"),
            ("DELETE", "/proxies/a/toxics/x", None, 404, "toxic not found"),
            ("POST", "/proxies", {"upstream": "x:1"}, 400, "missing required field: name"),
            ("POST", "/proxies", {"name": "b"}, 400, "missing required field: upstream"),
            ("POST", "/proxies", b"", 400, "bad request body: EOF"),
            ("POST", "/proxies", {**proxy, "name": "a"}, 409, "proxy already exists"),
            ("POST", "/proxies", {**proxy, "listen": address}, 500, f"listen tcp {address}: bind: address already in use"),
            ("POST", "/proxies", {**proxy, "listen": "x"}, 500, "listen tcp: address x: missing port in address"),
            ("POST", "/proxies/a/toxics", {"type": "latency"}, 409, "toxic already exists"),
            ("POST", "/proxies/a/toxics", {"type": "Latency"}, 400, "invalid toxic type"),
            ("POST", "/proxies/a/toxics", {"type": "x", "stream": "y"}, 400,
             "stream was invalid, can be either upstream or downstream"),
        ]
        for method, path, body, status, text in cases:
            response, content = self.server.exchange(method, path, body)
            self.assertEqual((response.status, json.loads(content)), (status, {"error": text, "status": status}), path)
            self.assertTrue(content.endswith(b"\n"))
            self.assertEqual(len(response.headers["X-Toxiproxy-Request-Id"]), 20)
        response, content = self.server.exchange("POST", "/populate", [{"name": "p"}])
        text = "missing required field: upstream at proxy 1"
        self.assertEqual((response.status, json.loads(content)), (400, {"error": text, "status": 400, "proxies": []}))
        self.assertEqual(list(self.server.call("GET", "/proxies")[1]), ["a"])

    def test_07_all_attributes_are_integers(self):
        self.server.proxy("a", self.upstream)
        for name, attributes in ATTRIBUTES.items():
            given = {"average_size": 9} if name == "slicer" else {}
            status, toxic = self.server.toxic("a", type=name, attributes=given, stream="UPSTREAM")
            self.assertEqual(status, 200, toxic)
            self.assertEqual(toxic, {
                "attributes": {**attributes, **given}, "name": f"{name}_UPSTREAM", "type": name, "stream": "UPSTREAM",
                "toxicity": 1,
            })
        for value in (10.0, 10.5, "10"):
            status, _ = self.server.toxic("a", name="x", type="latency", attributes={"latency": value})
            self.assertEqual(status, 400, value)

    def test_08_rate_0_stalls_without_losing_a_byte(self):
        address = self.server.proxy("a", self.upstream)
        with connected(address) as client:
            client.sendall(b"before")
            self.assertEqual(received(client, 6), b"before")
            for stream in ("downstream", "upstream"):
                name = f"CUT_CONNECTION_{stream.upper()}"
                status, _ = self.server.toxic("a", name=name, type="bandwidth", stream=stream, attributes={"rate": 0})
                self.assertEqual(status, 200)
            client.sendall(b"during" * 1000)
            self.assertTrue(is_silent(client))
            for stream in ("DOWNSTREAM", "UPSTREAM"):
                self.assertEqual(self.server.call("DELETE", f"/proxies/a/toxics/CUT_CONNECTION_{stream}")[0], 204)
            self.assertEqual(received(client, 6000), b"during" * 1000)

    def test_09_listen_is_resolved(self):
        for listen in ("localhost:0", "127.0.0.1:0", "", ":0"):
            _, proxy = self.server.call("POST", "/proxies", {"name": "a", "listen": listen, "upstream": self.upstream})
            host, port = proxy["listen"].rsplit(":", 1)
            self.assertGreater(int(port), 0)
            self.assertIn(host, ("127.0.0.1", "[::1]") if "." in listen or "l" in listen else ("[::]",))
            connected(f"127.0.0.1:{port}" if host == "[::]" else proxy["listen"]).close()
            self.server.call("DELETE", "/proxies/a")
        _, proxy = self.server.call("POST", "/proxies", {"name": "a", "listen": "localhost:0", "upstream": "x:1", "enabled": False})
        self.assertEqual(proxy["listen"], "localhost:0")

    def test_10_version(self):
        response, content = self.server.exchange("GET", "/version")
        self.assertEqual((response.status, content), (200, b'{"version": "2.12.0"}\n'))
        self.assertEqual(response.headers["Content-Type"], "application/json;charset=utf-8")

    def test_11_colon_in_names(self):
        self.server.proxy("db:5432", self.upstream)
        self.assertEqual(self.server.call("GET", "/proxies/db:5432")[1]["name"], "db:5432")
        self.assertEqual(self.server.call("GET", "/proxies/db%3A5432")[1]["name"], "db:5432")

    def test_12_populate_leaves_equal_proxies_alone(self):
        address = self.server.proxy("a", self.upstream, listen=OWN_ADDRESS)
        self.server.toxic("a", type="latency")
        self.server.call("POST", "/proxies/a", {"enabled": False})
        entries = [
            {"name": "a", "listen": address, "upstream": self.upstream},
            {"name": "b", "listen": "127.0.0.1:0", "upstream": self.upstream},
        ]
        status, made = self.server.call("POST", "/populate", entries)
        self.assertEqual(status, 201)
        self.assertEqual([(p["enabled"], len(p["toxics"])) for p in made["proxies"]], [(False, 1), (True, 0)])
        status, made = self.server.call("POST", "/populate", [{**entries[0], "upstream": "127.0.0.1:1"}])
        self.assertEqual([(p["enabled"], p["toxics"], p["upstream"]) for p in made["proxies"]], [(True, [], "127.0.0.1:1")])

    def test_13_keys_match_in_any_case(self):
        status, proxy = self.server.call(
            "POST", "/proxies", {"Name": "a", "LISTEN": "127.0.0.1:0", "Upstream": self.upstream, "unknown": 1}
        )
        self.assertEqual((status, proxy["name"]), (201, "a"))
        _, toxic = self.server.call("POST", "/proxies/a/toxics", {"Type": "bandwidth", "Attributes": {"Rate": 5}})
        self.assertEqual(toxic["attributes"], {"rate": 5})
        # Toxiproxy ignores it, as --strict-compat does: see docs/toxiproxy.md.
        status, _ = self.server.call("POST", "/proxies/a/toxics", {"type": "latency", "attributes": {"delay": 5}})
        self.assertEqual(status, 400)

    def test_14_toxics_may_be_null(self):
        address = self.server.proxy("a", self.upstream, toxics=None)
        whole = {"name": "z", "listen": address, "upstream": self.upstream, "enabled": True, "toxics": None}
        status, proxy = self.server.call("POST", "/proxies/a", whole)
        self.assertEqual((status, proxy["name"], proxy["toxics"]), (200, "a", []))

    def test_paths_and_methods(self):
        cases = [
            ("HEAD", "/proxies", 405), ("OPTIONS", "/proxies", 405), ("PUT", "/reset", 405), ("GET", "/proxies/", 404),
            ("GET", "/nothing", 404), ("GET", "/proxies/a%2Fb", 404), ("GET", "//proxies", 301), ("GET", "/proxies/%zz", 404),
        ]
        for method, path, status in cases:
            self.assertEqual(self.server.exchange(method, path)[0].status, status, path)
        self.assertEqual(self.server.exchange("GET", "//proxies")[0].headers["Location"], "/proxies")

    def test_order_of_toxics(self):
        self.server.proxy("a", self.upstream)
        for name, stream in (("1", "downstream"), ("2", "upstream"), ("3", "downstream"), ("4", "upstream")):
            self.server.toxic("a", name=name, type="noop", stream=stream)
        names = [toxic["name"] for toxic in self.server.call("GET", "/proxies/a/toxics")[1]]
        self.assertEqual(names, ["2", "4", "1", "3"])

    def test_wrong_values_change_nothing(self):
        self.server.proxy("a", self.upstream)
        self.server.toxic("a", name="t", type="latency", attributes={"latency": 5})
        for change in (
            {"attributes": {"latency": 99, "jitter": "x"}}, {"attributes": {"latency": -1}}, {"toxicity": 7},
            {"attributes": {"latency": 8}, "toxicity": -0.5},
        ):
            self.assertEqual(self.server.call("PATCH", "/proxies/a/toxics/t", change)[0], 400, change)
        toxic = self.server.call("GET", "/proxies/a/toxics/t")[1]
        self.assertEqual((toxic["attributes"]["latency"], toxic["toxicity"]), (5, 1))
        for toxic in (
            {"type": "bandwidth", "attributes": {"rate": -1}}, {"type": "slicer"}, {"type": "noop", "toxicity": 7},
        ):
            self.assertEqual(self.server.toxic("a", **toxic)[0], 400, toxic)

    def test_a_move_that_fails_changes_nothing(self):
        first, second = self.server.proxy("a", self.upstream), self.server.proxy("b", self.upstream)
        with connected(first) as client:
            status, _ = self.server.call("POST", "/proxies/a", {"listen": second})
            self.assertEqual(status, 500)
            client.sendall(b"still here")
            self.assertEqual(received(client, 10), b"still here")
        self.assertEqual(self.server.call("GET", "/proxies/a")[1]["listen"], first)

    def test_a_new_upstream(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            address = self.server.proxy("a", self.upstream)
            client = self.enterContext(connected(address))
            upstream = "127.0.0.1:%d" % other.getsockname()[1]
            self.assertEqual(self.server.call("POST", "/proxies/a", {"upstream": upstream})[0], 200)
            self.assertEqual(ending(client), "end")
            other.settimeout(20)
            with connected(address):
                other.accept()[0].close()

    def test_toxics_act(self):
        address = self.server.proxy("a", self.upstream)

        def round_trip(client):
            start = time.monotonic()
            client.sendall(b"x")
            received(client, 1)
            return time.monotonic() - start

        client = self.enterContext(connected(address))
        round_trip(client)
        self.server.toxic("a", name="l", type="latency", attributes={"latency": 200})
        self.assertGreaterEqual(round_trip(client), 0.2)
        self.server.call("DELETE", "/proxies/a/toxics/l")
        # A toxicity of 0 leaves every connection alone.
        for kind in ("latency", "timeout", "reset_peer", "limit_data", "bandwidth"):
            self.server.toxic("a", name=kind, type=kind, toxicity=0, attributes={"latency": 60_000})
        self.assertLess(round_trip(client), 20)
        self.server.call("POST", "/reset")
        self.server.toxic("a", type="limit_data", attributes={"bytes": 3})
        client.sendall(b"abcdef")
        self.assertEqual(received(client, 9), b"abc")
        self.server.call("POST", "/reset")
        client = self.enterContext(connected(address))
        round_trip(client)
        self.server.toxic("a", type="reset_peer", attributes={"timeout": 10})
        client.sendall(b"x")
        self.assertEqual(ending(client), "reset")

    def test_timeout_discards_and_closes(self):
        address = self.server.proxy("a", self.upstream)
        client, spared = self.enterContext(connected(address)), self.enterContext(connected(address))
        self.server.toxic("a", name="t", type="timeout")
        client.sendall(b"lost")
        self.assertTrue(is_silent(client))
        self.server.call("DELETE", "/proxies/a/toxics/t")
        self.assertEqual(ending(client), "end")
        spared.sendall(b"whole")
        self.assertEqual(received(spared, 5), b"whole")
        self.server.toxic("a", name="t", type="timeout", attributes={"timeout": 100})
        self.assertEqual(ending(spared), "end")

    def test_unreachable_upstreams(self):
        for upstream in ("127.0.0.1:1", "no-such-host.invalid:80"):
            address = self.server.proxy("a", upstream)
            # The reset may come before the client has noticed that it is connected.
            with contextlib.suppress(ConnectionResetError), connected(address) as client:
                self.assertEqual(client.recv(1), b"")
            self.server.call("DELETE", "/proxies/a")

    def test_browsers_of_other_origins(self):
        here = f"127.0.0.1:{self.server.port}"
        for fields in (
            {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"}, {"User-Agent": "Mozilla/5.0", "Host": f"evil.example:{self.server.port}"},
            {"Origin": f"http://evil.example:{self.server.port}", "Host": f"evil.example:{self.server.port}"},
        ):
            self.assertEqual(self.server.call("POST", "/reset", fields=fields)[0], 403, fields)
        for fields in ({"Origin": f"http://{here}", "Host": here, "Sec-Fetch-Site": "same-origin"}, {"User-Agent": "curl/8"}):
            self.assertEqual(self.server.call("POST", "/reset", fields=fields)[0], 204, fields)


class Process(unittest.TestCase):
    def test_config_file_with_toxics(self):
        with echo() as upstream, tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            toxics = [{"name": "l", "type": "latency", "attributes": {"latency": 200}}]
            json.dump([{"name": "a", "listen": "127.0.0.1:0", "upstream": upstream, "toxics": toxics}], file)
            file.flush()
            with Server("--config", file.name) as server:
                proxy = server.call("GET", "/proxies/a")[1]
                self.assertEqual([toxic["name"] for toxic in proxy["toxics"]], ["l"])
                with connected(proxy["listen"]) as client:
                    start = time.monotonic()
                    client.sendall(b"x")
                    received(client, 1)
                    self.assertGreaterEqual(time.monotonic() - start, 0.2)

    def test_the_same_seed_gives_the_same_faults(self):
        def affected(seed):
            with echo() as upstream, Server("--seed", str(seed)) as server:
                address = server.proxy("a", upstream)
                server.toxic("a", type="limit_data", toxicity=0.5, attributes={"bytes": 1})
                pattern = ""
                for _ in range(24):
                    with connected(address) as client:
                        client.sendall(b"ab")
                        pattern += str(len(received(client, 2)))
                return pattern

        first = affected(42)
        self.assertEqual(affected(42), first)
        self.assertNotEqual(affected(43), first)
        self.assertIn("1", first)
        self.assertIn("2", first)

    def test_a_token(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("secret\n")
            file.flush()
            with Server("--token-file", file.name) as server:
                self.assertEqual(server.call("GET", "/version")[0], 200)
                for token in ("", "Bearer", "Bearer wrong", "Bearer secretsecret", "Basic secret"):
                    response, _ = server.exchange("GET", "/proxies", fields={"Authorization": token})
                    self.assertEqual((response.status, response.headers["WWW-Authenticate"]), (401, "Bearer"), token)
                self.assertEqual(server.call("GET", "/proxies", fields={"Authorization": "Bearer secret"}), (200, {}))

    def test_a_busy_port_ends_it(self):
        with Server() as server:
            with self.assertRaisesRegex(Failure, "the port is taken"):
                Server(port=server.port)

    def test_strict_compatibility(self):
        with Server("--strict-compat") as server:
            server.proxy("a", "127.0.0.1:1")
            self.assertEqual(server.call("GET", "/proxies/a")[1]["Logger"], {})
            self.assertEqual(server.call("POST", "/populate", []), (201, {"proxies": None}))
            self.assertEqual(server.toxic("a", type="noop", toxicity=7.5)[1]["toxicity"], 7.5)
            status, text = server.call("GET", "/proxies", fields={"User-Agent": "Mozilla/5.0"})
            self.assertEqual((status, text), (403, b"User agent not allowed\n"))

    def test_a_signal_ends_it(self):
        server = Server()
        server.proxy("a", "127.0.0.1:1")
        self.assertEqual(server.stop(), 0)

    def test_head_has_no_content_and_the_next_response_follows(self):
        with Server() as server, socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
            client.sendall(b"HEAD /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
                           b"GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            text = b"".join(iter(lambda: client.recv(1 << 16), b""))
            head, _, rest = text.partition(b"\r\n\r\n")
            self.assertTrue(head.startswith(b"HTTP/1.1 404 "), head)
            self.assertRegex(head.lower(), b"content-length: [1-9]")
            self.assertTrue(rest.startswith(b"HTTP/1.1 200 OK\r\n"), rest)

    def test_a_client_that_waits_for_100_gets_it(self):
        head = b"POST /populate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        with Server() as server, socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
            for _ in range(2):
                client.sendall(head)
                self.assertEqual(client.recv(1 << 16), b"HTTP/1.1 100 Continue\r\n\r\n")
                client.sendall(b"[]")
                self.assertTrue(client.recv(1 << 16).startswith(b"HTTP/1.1 201 "))

    def test_garbage_on_the_socket(self):
        with Server() as server:
            for garbage in (b"\0" * 1000, b"GET", b"GET / HTTP/9.9\r\n\r\n", b"POST /populate HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n",
                            b"POST /proxies HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", os.urandom(5000)):
                with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
                    client.sendall(garbage)
            huge = b"[" * 100_000
            self.assertEqual(server.call("POST", "/populate", huge)[0], 400)
            self.assertEqual(server.exchange("POST", "/populate", b" " * ((8 << 20) + 1))[0].status, 413)
            self.assertEqual(server.call("GET", "/proxies"), (200, {}))


if __name__ == "__main__":
    unittest.main()
