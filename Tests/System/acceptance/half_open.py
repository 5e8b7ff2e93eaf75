"""A half-open connection: one direction is silent, the other goes on."""
import socket

from acceptance.harness import Squall, is_silent, served, verdict


def measure():
    fault = {"kind": "half-open", "stream": "downstream", "at": "100000 B"}
    heard = []

    def serve(connection):
        connection.sendall(bytes(100_000 + 1))
        connection.shutdown(socket.SHUT_WR)
        while part := connection.recv(1 << 16):
            heard.append(part)

    with served(serve) as upstream, Squall({"faults": [fault]}, upstream) as squall:
        connection = socket.create_connection(("127.0.0.1", squall.port))
        received = 0
        while received < 100_000:
            received += len(connection.recv(1 << 16))
        quiet = is_silent(connection, 2)
        connection.sendall(b"hello")
        quiet = quiet and is_silent(connection, 1)
        connection.close()
    verdict("half-open", received == 100_000 and quiet and b"".join(heard) == b"hello",
            f"{received} bytes, then nothing and no end for 3 s: {quiet}; the server heard {b''.join(heard)}")
