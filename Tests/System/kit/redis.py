"""A Redis of its own on a free port, for measurements that need a real server."""
import shutil, socket, subprocess, tempfile

from . import programs


class Redis:
    """A Redis of its own, which keeps nothing, with one value of 1,000 bytes."""

    def __enter__(self):
        self.folder, self.port = tempfile.mkdtemp(prefix="squall-redis-"), programs.free_port()
        self.process = programs.start(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly",
                                       "no", "--dir", self.folder], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        programs.wait_until_listening(self.process, self.port)
        value = b"v" * 1_000
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as link:
            # The key that `redis-benchmark -t get` asks for.
            link.sendall(b"*3\r\n$3\r\nSET\r\n$16\r\nkey:__rand_int__\r\n$1000\r\n" + value + b"\r\n")
            if link.recv(100) != b"+OK\r\n":
                raise programs.Failure("Redis doesn't take a value")
        return self

    def __exit__(self, *_):
        programs.end(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)
