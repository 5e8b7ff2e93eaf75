"""HTTP servers in a thread, which don't mind connections that are cut."""
import contextlib, functools, http.server, ssl, threading


class Handler(http.server.BaseHTTPRequestHandler):
    """Keeps connections open, and logs nothing."""
    protocol_version = "HTTP/1.1"

    def answer(self, content, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class FolderHandler(Handler, http.server.SimpleHTTPRequestHandler):
    pass


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 128

    def handle_error(self, *_):
        pass  # Connections that are cut are what is tested.


@contextlib.contextmanager
def served(handler, certificate=None, host="127.0.0.1", group=None, version=None):
    """The port of a server whose requests a handler answers, or that serves a folder, over TLS with a certificate, with one group of keys alone, and a newest version."""
    if isinstance(handler, str):
        handler = functools.partial(FolderHandler, directory=handler)
    server = _Server((host, 0), handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        if group:
            context.set_ecdh_curve(group)
        if version:
            context.maximum_version = version
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
