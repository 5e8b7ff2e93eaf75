#!/usr/bin/env python3
"""Asks five clients what they say to each failure of TLS, and compares their answers with the table below, twice.

    make tls-table                                    installs them first; three minutes
    SQUALL=.build/debug/squall python3 Tests/System/https/table.py --once expired

A cell is a part of what the client says; "whole" is that it has all bytes. `--show` prints what they say. Exits 1 if an answer is another one, if two
rounds differ, or if a client is missing.
"""
import argparse, concurrent.futures, contextlib, json, os, re, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import clients
from kit import programs, web

SIZE = 100_000
TIMED_OUT = ["exit 28", "timed out", "timeout", "timed out", "Timeout|deadline"]
WHOLE = ["whole"] * 5


def tls(**keys):
    return {"kind": "tls"} | keys


def wire(kind, **keys):
    return {"kind": kind, "stream": "downstream", "of": "wire"} | keys


def alert(name):
    """All of them name it."""
    return [tls(alert=name), "/sized", [name.replace("_", "[ _]")] * 5]


def late(name):
    """All of them name an alert behind content."""
    return [tls(alert=name, at="5000 B"), "/sized", [name.replace("_", "[ _]")] * 5]


def own(name):
    """A certificate of `made`."""
    return tls(identity=f"{name}.pem")


def made(work):
    """Makes an authority, `own.crt`, with certificates that clients disagree on."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=work, check=True, capture_output=True)
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "own.key", "-out", "own.crt", "-days", "2", "-subj", "/CN=own authority")
    san = ["-addext", "subjectAltName=DNS:localhost"]
    for name, size, digest, names in [("sha1", 2048, "sha1", san), ("short", 1024, "sha256", san), ("nameless", 2048, "sha256", []), ("long", 2048, "sha256", san)]:
        openssl("req", "-newkey", f"rsa:{size}", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", "/CN=localhost", *names)
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "own.crt", "-CAkey", "own.key", "-CAcreateserial", "-days", "2", f"-{digest}",
                "-copy_extensions", "copy", "-out", f"{name}.crt")
        with open(f"{work}/{name}.pem", "w") as file:
            for part in [f"{name}.crt", *["own.crt"] * (299 if name == "long" else 0), f"{name}.key"]:
                file.write(open(f"{work}/{part}").read())


# The fault, the path, and what curl, Python, Node, Java and Go say.
TABLE = {
    "expired": [tls(certificate="expired"), "/sized",
                ["exit 60", "certificate has expired", "CERT_HAS_EXPIRED", "PKIX|validity", "certificate has expired"]],
    "not yet valid": [tls(certificate="not-yet-valid"), "/sized",
                      ["exit 60", "not yet valid", "CERT_NOT_YET_VALID", "PKIX|validity", "not yet valid"]],
    "wrong host": [tls(certificate="wrong-host"), "/sized",
                   ["exit 60", "Hostname mismatch", "ALTNAME_INVALID", "No subject alternative|No name matching", "certificate is valid for"]],
    "self-signed": [tls(certificate="self-signed"), "/sized",
                    ["exit 60", "self.signed certificate", "DEPTH_ZERO_SELF_SIGNED", "PKIX path building", "unknown authority|not trusted|self-signed"]],
    "untrusted": [tls(certificate="untrusted"), "/sized",
                  ["exit 60", "self.signed certificate in certificate chain", "SELF_SIGNED_CERT_IN_CHAIN", "PKIX path building", "unknown authority"]],
    "no intermediate": [tls(certificate="no-intermediate"), "/sized",
                        ["exit 60", "unable to get local issuer", "UNABLE_TO_VERIFY_LEAF", "PKIX path building", "unknown authority"]],
    "long chain": [tls(certificate="long-chain"), "/sized", ["whole", "whole", "whole", "chain length|maximum allowed size", "whole"]],
    "alert 40": alert("handshake_failure"),
    "alert 70": alert("protocol_version"),
    "alert 80": alert("internal_error"),
    "alert 112": alert("unrecognized_name"),
    "alert 120": alert("no_application_protocol"),
    "warning 112": [wire("insert", at="0 B", bytes={"hex": "15030300020170"}), "/sized",
                    ["whole", "whole", "whole", "unrecognized_name", "whole"]],
    "plain HTTP": [tls(reply="HTTP/1.1 400 Bad Request"), "/sized",
                   ["exit 35", "WRONG_VERSION_NUMBER|wrong version", "WRONG_VERSION|EPROTO", "plaintext connection", "HTTP response to HTTPS client"]],
    "FIN for ServerHello": [wire("cut", at="0 B", how="close"), "/sized",
                            ["exit 35", "EOF|Remote end closed", "ECONNRESET", "Remote host", "EOF"]],
    "RST for ServerHello": [wire("cut", limit="0 B", how="reset"), "/sized",
                            ["exit 35", "reset", "ECONNRESET", "reset|terminated", "reset"]],
    "FIN in the flight": [wire("cut", at="300 B", how="close"), "/sized",
                          ["exit 35", "EOF", "ECONNRESET", "Remote host", "EOF"]],
    "RST in the flight": [wire("cut", at="300 B", how="reset"), "/sized", ["exit 35", "reset", "ECONNRESET", "reset|terminated", "reset"]],
    "stall for ServerHello": [tls(stall="server-hello", **{"for": "1 h"}), "/sized", TIMED_OUT],
    "stall behind ServerHello": [tls(stall="certificate", **{"for": "1 h"}), "/sized", TIMED_OUT],
    "stall before the end": [tls(stall="finished", **{"for": "1 h"}), "/sized", TIMED_OUT],
    "corrupt record": [wire("corrupt", at="400 B", bit=0), "/sized",
                       ["bad record mac|exit 35", "DECRYPTION_FAILED_OR_BAD_RECORD_MAC|bad record mac", "BAD_RECORD_MAC|bad record mac",
                        "Tag mismatch|AEADBadTag", "bad record MAC"]],
    "records of 1 B": [tls(record="1 B"), "/sized", WHOLE],
    "records of 512 B": [tls(record="512 B"), "/sized", WHOLE],
    "half a record, FIN": [wire("cut", at="60000 B", how="close"), "/sized",
                           ["exit (18|56)", "IncompleteRead|EOF", "aborted|ECONNRESET", "EOF|closed|terminated", "unexpected EOF"]],
    "half a record, RST": [wire("cut", at="60000 B", how="reset"), "/sized",
                           ["exit 56|exit 18", "reset|IncompleteRead", "aborted|ECONNRESET", "reset|terminated", "reset"]],
    "no close_notify, a length": [{"kind": "cut", "stream": "downstream", "at": "5000 B", "how": "close"}, "/sized",
                                  ["exit (18|56)", "IncompleteRead|EOF", "aborted|ECONNRESET", "EOF|closed|terminated", "unexpected EOF"]],
    "no close_notify, no length": [{"kind": "cut", "stream": "downstream", "at": "5000 B", "how": "close"}, "/unsized", ["a part"] * 5],
    "close_notify, a length": [{"kind": "cut", "stream": "downstream", "at": "5000 B", "how": "notify"}, "/sized",
                               ["exit 18", "IncompleteRead", "aborted|ECONNRESET|terminated", "EOF|closed|terminated|fixed content-length", "unexpected EOF"]],
    "close_notify, no length": [{"kind": "cut", "stream": "downstream", "at": "5000 B", "how": "notify"}, "/unsized", ["a part"] * 5],
    "alert 80 behind content": late("internal_error"),
    "alert 80 before content": [tls(alert="internal_error", at="0 B"), "/sized", ["internal[ _]error"] * 5],
    "alert 42 behind content": late("bad_certificate"),
    "alert 90 behind content": [tls(alert="user_canceled", at="5000 B"), "/unsized", ["a part", "a part", "a part", "a part", "user canceled"]],
    "own, SHA-1": [own("sha1"), "/sized", ["exit 60", "CA md too weak|verify failed", "CA_MD_TOO_WEAK|too weak", "whole", "SHA1|insecure algorithm"]],
    "own, RSA 1024": [own("short"), "/sized", ["exit 60", "key too (small|weak)|verify failed", "whole", "whole", "whole"]],
    "own, no SAN": [own("nameless"), "/sized", ["whole", "whole", "whole", "whole", "legacy Common Name|not valid for"]],
    "own, 300 certificates": [own("long"), "/sized", ["exit (35|60|56)", "EXCESSIVE_MESSAGE_SIZE|too", "EXCESSIVE|too", "maximum allowed size|chain", "exceeds maximum"]],
    "no ALPN": [tls(alpn="none"), "/sized", WHOLE],
    "only 1.2": [tls(version="1.2"), "/sized", WHOLE],
    "only 1.3": [tls(version="1.3"), "/sized", WHOLE],
}


class Answers(web.Handler):
    """Bytes with a length at `/sized`, and without elsewhere."""

    def do_GET(self):
        with contextlib.suppress(OSError):
            self.send_response(200)
            if self.path == "/sized":
                self.send_header("Content-Length", str(SIZE))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"x" * SIZE)


def said(client, url, authority, work):
    """What a client says, without numbers that change."""
    (count, _, text), = clients.said(client, url, authority, work)
    if not text:
        return "whole" if count == SIZE else "a part, as if it were whole"
    return re.sub(r"\b[0-9A-F]{12,16}\b|\d\d:\d\d:\d\d|\d{4,}|0x[0-9a-f]+|after \d+|127\.0\.0\.1:\S+|\d+ms", "…", text.strip(" /"))


def row(name, upstream, work):
    """What all clients say to one failure."""
    fault, path, _ = TABLE[name]
    port = programs.free_port()
    profile = f"{work}/{port}.json"
    with open(profile, "w") as file:
        json.dump({"name": "one", "faults": [fault]}, file)
    squall = programs.start([programs.SQUALL, "run", profile, "--listen", f"tls:127.0.0.1:{port}", "--upstream", upstream], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        authority = None
        while not authority:
            line = squall.stdout.readline()
            if not line:
                raise SystemExit(f"{name}: squall run has ended")
            authority = (re.match(r"trust: (\S+)", line) or [None, None])[1]
        if "identity" in fault:
            authority = f"{work}/own.crt"
        return [said(client, f"https://localhost:{port}{path}", authority, work) for client in clients.NAMES]
    finally:
        programs.end(squall)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="rows; without one all")
    parser.add_argument("--once", action="store_true", help="one round")
    parser.add_argument("--show", action="store_true", help="print what the clients say")
    options = parser.parse_args()
    names = options.names or list(TABLE)
    if unknown := [name for name in names if name not in TABLE]:
        parser.error(f"no row {unknown[0]!r}: {', '.join(TABLE)}")
    programs.need_squall()
    for tool in ("curl", "node", "javac", "keytool", "go", "openssl"):
        if not shutil.which(tool):
            raise SystemExit(f"{tool} is missing (scripts/install.sh trust)")
    failures = []
    with tempfile.TemporaryDirectory() as work, web.served(Answers) as port:
        clients.compiled(work)
        made(work)
        upstream = f"127.0.0.1:{port}"
        rounds = []
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for _ in range(1 if options.once else 2):
                rounds.append(dict(zip(names, pool.map(lambda name: row(name, upstream, work), names))))
    for name in names:
        problems = []
        for index, client in enumerate(clients.NAMES):
            answers = [answers[name][index] for answers in rounds]
            found = [re.search(TABLE[name][2][index], answer, re.IGNORECASE) for answer in answers]
            if not all(found):
                problems.append(f"{client} says {answers[0]!r}, not {TABLE[name][2][index]!r}")
            elif len({match[0] for match in found}) > 1:
                problems.append(f"{client} says {found[0][0]!r}, then {found[1][0]!r}")
            if options.show:
                print(f"{name:26} {client:7} {answers[0]}")
        print(f"{name:26} {'; '.join(problems) or 'holds'}", flush=True)
        failures += problems
    print(f"{len(names)} failures, {len(clients.NAMES)} clients, {len(rounds)} rounds: {len(failures)} answers aren't as they should be")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
