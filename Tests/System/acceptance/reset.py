"""A reset of the server, and an upstream that refuses, arrive as resets."""
import socket, struct

from acceptance.harness import Squall, served, verdict


def measure():
    def serve(connection):
        connection.recv(1)
        connection.sendall(b"x" * 1000)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with served(serve) as upstream, Squall({}, upstream) as squall:
        resets = 0
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", squall.port)) as connection:
                connection.sendall(b"?")
                try:
                    while connection.recv(1 << 16):
                        pass
                except ConnectionResetError:
                    resets += 1
        verdict("reset", resets == 50, f"{resets} of 50 resets of the server arrived as resets")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with Squall({}, port) as squall:
        with socket.create_connection(("127.0.0.1", squall.port)) as connection:
            try:
                connection.recv(1)
                refused = False
            except ConnectionResetError:
                refused = True
        verdict("reset", refused, "an upstream that refuses is mirrored as a reset")
