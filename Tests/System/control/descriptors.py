"""Every command with few descriptors: a sentence or service, never a signal, and no spinning."""
import os, resource, signal, socket, subprocess, sys, tempfile, time, unittest, urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit import web
from kit.machine import processor_seconds
from kit.programs import SQUALL
from kit.server import Server

LIMITS = [8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 256, 512, 1024]
PROFILE = '{ "name": "p", "faults": [ { "kind": "latency", "delay": "1 ms" } ] }'


def start(limit, *arguments):
    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    return subprocess.Popen([SQUALL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            stdin=subprocess.DEVNULL, preexec_fn=lower)


class Files(web.Handler):
    """A server of one file, which takes any upload."""

    CONTENT = bytes(range(256)) * 512

    def do_GET(self):
        self.answer(self.CONTENT)

    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(b"", 201)


def journal(folder):
    """The journal of a run in which a client met the fault."""
    profile, path = os.path.join(folder, "p.json"), os.path.join(folder, "j.jsonl")
    with open(profile, "w") as file:
        file.write(PROFILE)
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        place = "127.0.0.1:%d" % upstream.getsockname()[1]
        process = start(1024, "run", profile, "--listen", "127.0.0.1:0", "--upstream", place, "--journal", path)
        host, port = process.stdout.readline().split()[1].rsplit(":", 1)
        with socket.create_connection((host, int(port))) as client:
            client.sendall(b"x")
            server, _ = upstream.accept()
            server.recv(1)
            server.close()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    return path


class Descriptors(unittest.TestCase):
    def check_end(self, process, what):
        """It has ended: well, or with a sentence."""
        output, errors = process.communicate(timeout=120)
        self.assertIn(process.returncode, (0, 1), f"{what}: {process.returncode} {errors}")
        if process.returncode == 1:
            self.assertRegex(errors, r"^squall: |^Failed to ", f"{what}: {output} {errors}")
        return process.returncode

    def test_commands_that_end(self):
        server = Server()
        self.addCleanup(server.stop)
        with tempfile.TemporaryDirectory() as folder:
            profile = os.path.join(folder, "p.json")
            with open(profile, "w") as file:
                file.write(PROFILE)
            commands = [
                ("check", profile), ("plan", profile), ("profiles",),
                ("ctl", "-h", f"http://127.0.0.1:{server.port}", "list"),
                ("demo", "--size", "64 KiB"),
                ("test", "--profile", profile, "--upstream", "127.0.0.1:9", "--allow-vacuous", "--", "true"),
                ("shrink", journal(folder), "--upstream", "127.0.0.1:9", "--output", os.path.join(folder, "shrunk"),
                 "--", "false"),
            ]
            for command in commands:
                served = [limit for limit in LIMITS if self.check_end(start(limit, *command), (limit, *command)) == 0]
                print(f"{command[0]}: works with {served[:1] or 'none'} and more")
                self.assertEqual(served, [limit for limit in LIMITS if served and limit >= served[0]], command)

    def test_transfers(self):
        with tempfile.TemporaryDirectory() as folder, web.served(Files) as port:
            url = f"http://127.0.0.1:{port}/file.bin"
            (source, state) = (os.path.join(folder, "source.bin"), os.path.join(folder, "state"))
            with open(source, "wb") as file:
                file.write(Files.CONTENT)
            for command in (("get", url, "-o", os.path.join(folder, "file.bin")), ("put", source, url, "--state", state)):
                served = [limit for limit in LIMITS if self.check_end(start(limit, *command), (limit, *command)) == 0]
                print(f"{command[0]}: works with {served[:1] or 'none'} and more")
                self.assertIn(48, served, command)
                self.assertEqual(served, [limit for limit in LIMITS if limit >= served[0]], command)

    def check_server(self, limit, *arguments, path=None):
        """A server that is ready, and idle, also when its clients have taken all descriptors; or a sentence. It responds
        again when they have gone, to a request for `path`."""
        process = start(limit, *arguments)
        line = process.stdout.readline()
        if not line.startswith("ready: "):
            self.assertEqual(self.check_end(process, (limit, *arguments)), 1)
            return False
        address = line.split()[1].removeprefix("http://").rsplit(":", 1)
        clients = []
        try:
            for _ in range(limit):
                client = socket.socket()
                client.setblocking(False)
                client.connect_ex((address[0].replace("localhost", "127.0.0.1"), int(address[1])))
                clients.append(client)
            # It may still connect clients on a busy machine; one that spins is never idle.
            for _ in range(10):
                before = processor_seconds(process.pid)
                time.sleep(1)
                used = processor_seconds(process.pid) - before
                if used < 0.05:
                    break
            self.assertLess(used, 0.05, f"{limit} {arguments}: {used:.0%} while its clients wait")
        finally:
            for client in clients:
                client.close()
            if path:
                with urllib.request.urlopen("http://%s:%s%s" % (*address, path), timeout=30) as response:
                    self.assertEqual(response.read(), Files.CONTENT, (limit, *arguments))
            process.send_signal(signal.SIGINT)
        self.assertEqual(self.check_end(process, (limit, *arguments)), 0)
        return True

    def test_servers(self):
        with tempfile.TemporaryDirectory() as folder:
            profile = os.path.join(folder, "p.json")
            with open(profile, "w") as file:
                file.write(PROFILE)
            # A server that answers nobody, so that the proxy's connections stay.
            with socket.create_server(("127.0.0.1", 0), backlog=4096) as upstream:
                place = "127.0.0.1:%d" % upstream.getsockname()[1]
                run = ("run", profile, "--listen", "127.0.0.1:0", "--upstream", place)
                replay = ("replay", journal(folder), "--listen", "127.0.0.1:0", "--upstream", place)
                for arguments in (("serve", "--port", "0"), run, replay):
                    served = [limit for limit in LIMITS if self.check_server(limit, *arguments)]
                    print(f"{arguments[0]}: works with {served[:1] or 'none'} and more")
                    self.assertIn(1024, served)
            with open(os.path.join(folder, "file.bin"), "wb") as file:
                file.write(Files.CONTENT)
            origin = ("origin", folder, "--uploads", folder)
            served = [limit for limit in LIMITS if self.check_server(limit, *origin, path="/file.bin")]
            print(f"origin: works with {served[:1] or 'none'} and more")
            self.assertEqual(served, [limit for limit in LIMITS if limit >= served[0]])


if __name__ == "__main__":
    unittest.main()
