"""What clients without a token, clients that leave, and long documents cost `squall serve`."""
import contextlib, http.client, json, os, signal, socket, sys, tempfile, threading, time, unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.machine import processor_seconds
from kit.server import Server

MEBIBYTE = 1 << 20


def memory(process, key):
    """A figure of /proc/PID/status in MiB."""
    with open(f"/proc/{process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key + ":")) / 1024


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def head(method, path, *fields):
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *fields, "", ""]).encode()


def rest(client):
    """Everything that comes until the server closes."""
    return b"".join(iter(lambda: client.recv(1 << 16), b""))


@contextlib.contextmanager
def guarded(*options):
    """A server that asks for the token `secret`."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("secret\n")
        file.flush()
        with Server("--token-file", file.name, *options) as server:
            yield server


class Contents(unittest.TestCase):
    def test_a_request_without_the_token_is_refused_by_its_head(self):
        for fields in ((), ("Expect: 100-continue",)):
            with guarded() as server, connect(server) as client:
                client.sendall(head("POST", "/populate", "Content-Length: 8388608", *fields))
                self.assertTrue(client.recv(1 << 16).startswith(b"HTTP/1.1 401 "))

    def test_a_client_that_asks_so_in_any_letters_gets_its_connection_closed(self):
        with Server() as server:
            for option in ("close", "Close", "keep-alive, CLOSE"):
                with connect(server) as client:
                    client.settimeout(20)
                    client.sendall(head("GET", "/version", f"Connection: {option}"))
                    self.assertTrue(rest(client).startswith(b"HTTP/1.1 200 "), option)
            with connect(server) as client:
                client.settimeout(20)
                client.sendall(b"GET /version HTTP/1.0\r\n\r\n")
                self.assertTrue(rest(client).startswith(b"HTTP/1.0 200 "))

    def test_a_request_without_one_host_is_refused(self):
        with Server() as server:
            for hosts in (b"", b"Host: localhost\r\nHost: localhost\r\n"):
                with connect(server) as client:
                    client.settimeout(20)
                    client.sendall(b"GET /version HTTP/1.1\r\n" + hosts + b"\r\n")
                    self.assertTrue(rest(client).startswith(b"HTTP/1.1 400 "), hosts)

    def test_a_content_that_is_too_long_is_refused_by_its_head(self):
        for path, length in (("/populate", 8 * MEBIBYTE), ("/v1/check", MEBIBYTE), ("/v1/snapshot", 8 * MEBIBYTE)):
            method = "PUT" if path == "/v1/snapshot" else "POST"
            with Server() as server, connect(server) as client:
                client.sendall(head(method, path, f"Content-Length: {length + 1}"))
                self.assertTrue(client.recv(1 << 16).startswith(b"HTTP/1.1 413 "), path)

    def test_the_connection_of_a_refused_request_goes_on_after_its_content(self):
        with guarded() as server:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            for _ in range(3):
                connection.request("POST", "/populate", b" " * MEBIBYTE)
                response = connection.getresponse()
                self.assertEqual((response.status, response.read()[:9]), (401, b'{"error":'))
            connection.request("GET", "/proxies", headers={"Authorization": "Bearer secret"})
            response = connection.getresponse()
            self.assertEqual((response.status, response.read()), (200, b"{}"))
            connection.close()

    def test_a_hundred_clients_without_the_token_take_no_memory(self):
        with guarded() as server:
            def send():
                with connect(server) as client, contextlib.suppress(OSError):
                    client.sendall(head("POST", "/populate", f"Content-Length: {8 * MEBIBYTE}"))
                    for _ in range(127):
                        client.sendall(b" " * (64 << 10))
                    client.recv(1 << 16)

            threads = [threading.Thread(target=send) for _ in range(100)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertLess(memory(server.process, "VmHWM"), 60)

    def test_the_contents_of_all_requests_together_are_bounded(self):
        with Server() as server:
            clients = [connect(server) for _ in range(6)]
            answers = []
            found = threading.Event()

            def send(client):
                with contextlib.suppress(OSError):
                    client.sendall(head("POST", "/populate", f"Content-Length: {8 * MEBIBYTE}") + b" " * (8 * MEBIBYTE - 1))
                    answer = client.recv(1 << 16)
                    if answer:
                        answers.append(answer)
                        found.set()

            threads = [threading.Thread(target=send, args=[client]) for client in clients]
            for thread in threads:
                thread.start()
            self.assertTrue(found.wait(10))
            self.assertTrue(answers[0].startswith(b"HTTP/1.1 503 "), answers[0][:80])
            for client in clients:
                with contextlib.suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()
            for client in clients:
                client.close()
            # What they had is free again.
            self.assertEqual(server.call("POST", "/populate", b" " * (8 * MEBIBYTE - 2) + b"[]")[0], 201)


class Leaving(unittest.TestCase):
    """A client that has ended its stream: what waits for it ends."""

    def test_a_wait_ends_with_its_client(self):
        body = b'{"until":"accepted > 0","timeout":"10 min"}'
        with Server() as server, connect(server) as client:
            client.sendall(head("POST", "/v1/wait", f"Content-Length: {len(body)}") + body)
            client.shutdown(socket.SHUT_WR)
            self.assertTrue(rest(client).startswith(b"HTTP/1.1 503 "))

    def test_an_event_stream_ends_with_its_client(self):
        with Server() as server, connect(server) as client:
            client.sendall(head("GET", "/v1/events?samples=10000"))
            client.shutdown(socket.SHUT_WR)
            self.assertTrue(rest(client).startswith(b"HTTP/1.1 200 "))

    def test_a_client_that_only_ends_its_requests_gets_its_responses(self):
        with Server() as server, connect(server) as client:
            client.sendall(head("GET", "/proxies"))
            client.shutdown(socket.SHUT_WR)
            self.assertTrue(rest(client).endswith(b"\r\n\r\n{}"))

    def test_the_connection_of_a_wait_goes_on(self):
        with Server() as server:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            for _ in range(3):
                connection.request("POST", "/v1/wait", b'{"until":"accepted >= 0"}')
                response = connection.getresponse()
                self.assertEqual((response.status, json.loads(response.read())["held"]), (200, True))
            local = connection.sock.getsockname()
            connection.request("GET", "/version")
            self.assertEqual(connection.getresponse().status, 200)
            self.assertEqual(connection.sock.getsockname(), local)
            connection.close()

    def test_a_thousand_abandoned_waits_cost_nothing(self):
        with Server() as server:
            for number in range(3):
                server.proxy(f"p{number}", "127.0.0.1:9")
            body = b'{"until":"accepted > 0","timeout":"10 min"}'
            request = head("POST", "/v1/wait", f"Content-Length: {len(body)}") + body
            for _ in range(1030):
                with connect(server) as client:
                    client.sendall(request)
            before = time.monotonic()
            self.assertEqual(server.call("GET", "/version")[0], 200)
            waited = time.monotonic() - before
            time.sleep(1)
            used = processor_seconds(server.process.pid)
            time.sleep(1)
            used = processor_seconds(server.process.pid) - used
            print(f"/version after 1,030 abandoned waits: {waited * 1000:.1f} ms; a second later: {used:.0%}")
            self.assertLess(used, 0.1)


    def test_a_stop_with_open_responses_is_silent(self):
        server = Server()
        body = b'{"until":"accepted > 0","timeout":"10 min"}'
        with connect(server) as stream, connect(server) as wait:
            stream.sendall(head("GET", "/v1/events?samples=100"))
            self.assertTrue(stream.recv(1 << 16).startswith(b"HTTP/1.1 200 "))
            wait.sendall(head("POST", "/v1/wait", f"Content-Length: {len(body)}") + body)
            server.process.send_signal(signal.SIGINT)
            _, errors = server.process.communicate(timeout=30)
        self.assertEqual((server.process.returncode, errors), (0, ""))


class LongDocuments(unittest.TestCase):
    def test_a_document_of_unknown_keys_stops_no_other_request(self):
        document = ("{" + ",".join(f'"k{number}":1' for number in range(80_000)) + "}").encode()
        self.assertLess(len(document), MEBIBYTE)
        with Server() as server:
            clients = [threading.Thread(target=server.call, args=["POST", "/v1/check", document]) for _ in range(4)]
            for client in clients:
                client.start()
            longest = 0
            while any(client.is_alive() for client in clients):
                before = time.monotonic()
                self.assertEqual(server.call("GET", "/version")[0], 200)
                longest = max(longest, time.monotonic() - before)
            print(f"/version beside 4 documents of 80,000 unknown keys: {longest * 1000:.1f} ms at most")
            # Each document takes longer where other requests wait for it.
            self.assertLess(longest, 5)
            status, answer = server.call("POST", "/v1/check", document)
            self.assertEqual((status, len(answer["problems"])), (200, 1))


if __name__ == "__main__":
    unittest.main()
