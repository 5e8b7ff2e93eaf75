"""Clients of HTTPS, each of which fetches a URL as often as is asked for: programs, and what they say."""
import os, subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
# Debian's, whose packages have the modules.
PYTHON3 = "/usr/bin/python3"
NAMES = ["curl", "python", "node", "java", "go"]
PYTHON = """\
import sys, urllib.request as u
for _ in range(int(sys.argv[2])):
    count, problem = 0, ""
    try:
        with u.urlopen(sys.argv[1], timeout=3) as response:
            while part := response.read(1 << 16): count += len(part)
            if response.length: problem = f"IncompleteRead, {response.length} bytes more expected"
    except Exception as error: problem = repr(error)
    print(f"{count}||{problem}")
"""
NODE = """\
const ask = left => {
    if (!left) return
    let count = 0, protocol = '', over = false
    const end = problem => { if (!over) { over = true; console.log(`${count}|${protocol}|${problem}`); ask(left - 1) } }
    const failed = error => end(`${error.code} ${error.message.trim()}`)
    const request = require('https').get(process.argv[1], response => {
        protocol = `${response.httpVersion} ${response.socket.alpnProtocol}`
        response.on('data', data => count += data.length).on('end', () => end('')).on('error', failed)
    }).on('error', failed)
    request.setTimeout(3000, () => request.destroy(new Error('timeout')))
}
ask(+process.argv[2])
"""
NODE_H2 = """\
const session = require('http2').connect(process.argv[1]).on('error', error => console.log(`0||${error.code}`))
let count = 0
session.request({ ':path': new URL(process.argv[1]).pathname }).on('data', data => count += data.length).on('error', () => {})
    .on('end', () => { console.log(`${count}|${session.alpnProtocol}|`); session.close() })
"""
HTTPX = """\
import httpx, sys
try:
    response = httpx.Client(http2=True).get(sys.argv[1])
    print(f"{len(response.content)}|{response.http_version}|")
except Exception as error: print(f"0||{error!r}")
"""
GRPC = """\
import grpc, sys, urllib.parse
channel = grpc.secure_channel(urllib.parse.urlsplit(sys.argv[1]).netloc, grpc.ssl_channel_credentials())
try: print(f"{len(channel.unary_unary('/a/b')(b'', timeout=20))}|OK|")
except grpc.RpcError as error: print(f"0||{error.code()} {error.details()}")
"""
SAYS = "%{size_download}|%{http_version}|%{errormsg} exit %{exitcode}\\n"
COMMANDS = {
    "curl": ["sh", "-c", f"curl -s -m 3 -o /dev/null -w '{SAYS}' \"$1#[1-$2]\" | sed 's/| exit 0$/|/'", "sh", "{url}", "{times}"],
    "python": [PYTHON3, "-c", PYTHON, "{url}", "{times}"],
    "node": ["node", "-e", NODE, "{url}", "{times}"],
    "java": ["java", "-cp", "{work}", "Ask", "{url}", "{times}"],
    "go": ["{work}/ask", "{url}", "{times}"],
    "node h2": ["node", "-e", NODE_H2, "{url}"],
    "httpx": [PYTHON3, "-c", HTTPX, "{url}"],
    "grpcio": [PYTHON3, "-c", GRPC, "{url}"],
}


def compile_go(work, name):
    subprocess.run(["go", "build", "-o", f"{work}/{name}", f"{HERE}/{name}.go"], check=True, env=os.environ | {"CGO_ENABLED": "0", "GO111MODULE": "off"})


def compiled(work):
    """Compiles the clients that have to be."""
    subprocess.run(["javac", "-d", work, f"{HERE}/Ask.java"], check=True)
    compile_go(work, "ask")


def variables(authority, work):
    """The variables of the environment by which all of them trust an authority."""
    store = os.path.join(work, authority.replace("/", "-") + ".jks")
    if not os.path.exists(store):
        subprocess.run(["keytool", "-importcert", "-noprompt", "-alias", "a", "-file", authority, "-keystore", store, "-storepass", "changeit"],
                       check=True, capture_output=True)
    files = dict.fromkeys(("SSL_CERT_FILE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"), authority)
    return files | {"JAVA_TOOL_OPTIONS": f"-Djavax.net.ssl.trustStore={store} -Djavax.net.ssl.trustStorePassword=changeit"}


def said(client, url, authority, work, times=1):
    """What a client says of each time: the bytes of the body, the protocols, and what is wrong."""
    words = {"{url}": url, "{work}": work, "{times}": str(times)}
    command = COMMANDS[client]
    for word, text in words.items():
        command = [part.replace(word, text) for part in command]
    done = subprocess.run(command, env=os.environ | variables(authority, work), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          timeout=60 + 3 * times)
    lines = [line.split("|", 2) for line in done.stdout.splitlines()]
    if len(lines) != times:
        raise SystemExit(f"{client} says {done.stdout[-200:]!r}")
    return [(int(count), protocols, problem) for count, protocols, problem in lines]
