"""A client that ends writing hears the whole response."""
import os, socket

from acceptance.harness import Squall, served, verdict


def measure():
    def serve(connection):
        data = b""
        while part := connection.recv(1 << 16):
            data += part
        connection.sendall(data)

    with served(serve) as upstream, Squall({}, upstream) as squall:
        exact = 0
        for _ in range(50):
            data = os.urandom(100_000)
            with socket.create_connection(("127.0.0.1", squall.port)) as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                back = b""
                while part := connection.recv(1 << 16):
                    back += part
            exact += back == data
        verdict("half-close", exact == 50, f"{exact} of 50 times 100 KB came back after the write side was shut down")
