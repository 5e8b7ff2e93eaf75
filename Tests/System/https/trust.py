#!/usr/bin/env python3
"""Runs programs as commands of `squall test` with TLS on both sides: do they trust its authority without a flag?

    make trust                                    installs them first; half a minute
    SQUALL=.build/debug/squall python3 Tests/System/https/trust.py curl node

Each program fetches a file, a git repository or a gRPC status from `squall origin --tls-self-signed`. It holds where it succeeds as the
command of `squall test`, and fails where it has the same URL without the variables that `squall test` sets. Five of them then ask for two
names at that address: one that the authority is for, and `other.test`, which they have to refuse although its certificate is signed.
Exits 1 if something doesn't hold, or if a program is missing.
"""
import argparse, contextlib, os, re, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from kit import programs

# Debian's, whose packages have the modules.
PYTHON3 = "/usr/bin/python3"
SIZE = 300_000
VARIABLES = ("SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS GRPC_DEFAULT_SSL_ROOTS_FILE_PATH GIT_SSL_CAINFO "
             "JAVA_TOOL_OPTIONS").split()
GRPC = ("import grpc, sys\nchannel = grpc.secure_channel(sys.argv[1], grpc.ssl_channel_credentials())\n"
        "try: channel.unary_unary('/a/b')(b'', timeout=20)\n"
        # A web server's answer: the handshake has succeeded.
        "except grpc.RpcError as error: sys.exit(error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED))")
NODE = ("require('https').get(process.argv[1], r => { let n = 0; r.on('data', d => n += d.length); "
        f"r.on('end', () => process.exit(n == {SIZE} ? 0 : 1)) }}).on('error', e => {{ console.error(e.message); process.exit(1) }})")
RUBY = f"require 'net/http'; exit(Net::HTTP.get(URI(ARGV[0])).bytesize == {SIZE})"
COMMANDS = {
    "curl": ["curl", "-sSf", "-o", "/dev/null", "{url}"],
    "urllib": [PYTHON3, "-c", f"import sys, urllib.request as u\nassert len(u.urlopen(sys.argv[1]).read()) == {SIZE}", "{url}"],
    "requests": [PYTHON3, "-c", f"import sys, requests\nassert len(requests.get(sys.argv[1]).content) == {SIZE}", "{url}"],
    "aiohttp": [PYTHON3, "-c", "import aiohttp, asyncio, sys\nasync def main():\n async with aiohttp.ClientSession() as s, s.get(sys.argv[1]) "
                f"as r:\n  assert len(await r.read()) == {SIZE}\nasyncio.run(main())", "{url}"],
    "grpcio": [PYTHON3, "-c", GRPC, "{address}"],
    "node": ["node", "-e", NODE, "{url}"],
    "ruby": ["ruby", "-e", RUBY, "{url}"],
    "java": ["java", "-cp", "{work}", "Fetch", "{url}"],
    "go": ["{work}/fetch", "{url}"],
    "git": ["git", "clone", "-q", "--bare", "{base}/repository.git", "{work}/clone"],
}
NEEDS = {"java": "javac", "go": "go"}
NAMED_PYTHON = ("import socket, ssl, sys\nhost, port = sys.argv[1].split(':')\n"
                "ssl.create_default_context().wrap_socket(socket.create_connection((host, port)), server_hostname=sys.argv[2])")
NAMED_NODE = ("const [host, port] = process.argv[1].split(':'); require('tls').connect({ host, port, servername: process.argv[2] }, "
              "() => process.exit(0)).on('error', e => { console.error(e.message); process.exit(1) })")
# Handshakes at an address for a name.
NAMED = {
    "curl": ["sh", "-c", "exec curl -sS -o /dev/null --connect-to \"$1:443:$0\" \"https://$1/\"", "{proxy}", "{name}"],
    "urllib": [PYTHON3, "-c", NAMED_PYTHON, "{proxy}", "{name}"],
    "node": ["node", "-e", NAMED_NODE, "{proxy}", "{name}"],
    "java": ["java", "-cp", "{work}", "Named", "{proxy}", "{name}"],
    "go": ["{work}/named", "{proxy}", "{name}"],
}


def prepared(name, work, folder):
    """Makes what a program needs."""
    run = lambda *command, **options: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **options)
    if name == "java":
        run("javac", "-d", work, f"{HERE}/Fetch.java", f"{HERE}/Named.java")
    elif name == "go":
        for program in ("fetch", "named"):
            run("go", "build", "-o", f"{work}/{program}", f"{HERE}/{program}.go", env=os.environ | {"CGO_ENABLED": "0", "GO111MODULE": "off"})
    elif name == "git":
        run("git", "init", "-q", f"{work}/tree")
        run("git", "-C", f"{work}/tree", "-c", "user.name=a", "-c", "user.email=a@b.test", "commit", "-q", "--allow-empty", "-m", "one")
        run("git", "clone", "-q", "--bare", f"{work}/tree", f"{folder}/repository.git")
        run("git", "-C", f"{folder}/repository.git", "update-server-info")


@contextlib.contextmanager
def started(command, environment, marks):
    """A program, and what follows each mark in its output."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    try:
        found = {}
        while len(found) < len(marks):
            line = process.stdout.readline()
            if not line:
                raise SystemExit(f"{command[1]} has ended")
            found |= {mark: match[1] for mark in marks if (match := re.search(mark + r"(\S+)", line))}
        yield [found[mark] for mark in marks]
    finally:
        programs.end(process)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *COMMANDS], help="programs; without one all")
    names = parser.parse_args().names or list(COMMANDS)
    programs.need_squall()
    failures = []
    environment = {key: value for key, value in os.environ.items() if key not in VARIABLES}
    with tempfile.TemporaryDirectory() as work:
        folder = f"{work}/served"
        os.mkdir(folder)
        with open(f"{folder}/file.bin", "wb") as file:
            file.write(os.urandom(SIZE))
        environment |= {"TMPDIR": work, "HOME": work}
        served = [programs.SQUALL, "origin", folder, "--port", "0", "--tls-self-signed"]
        with started(served, environment, ["trust: ", "ready: https://"]) as (authority, upstream):
            for name in names:
                if not shutil.which(NEEDS.get(name, COMMANDS[name][0].replace("{work}", work))):
                    failures.append(f"{name} is missing")
                    continue
                prepared(name, work, folder)
                problem = checked(name, work, authority, upstream.rstrip("/"), environment)
                print(f"{name:9} {problem or 'holds'}", flush=True)
                failures += [f"{name}: {problem}"] if problem else []
        left = [entry for entry in os.listdir(work) if entry.startswith("squall-")]
        failures += [f"left in TMPDIR: {left}"] if left else []
    for failure in failures:
        print(f"FAILED: {failure}")
    sys.exit(bool(failures))


def checked(name, work, authority, upstream, environment):
    def filled(base, address):
        words = {"{url}": f"{base}/file.bin", "{base}": base, "{address}": address, "{work}": work}
        command = COMMANDS[name]
        for word, text in words.items():
            command = [part.replace(word, text) for part in command]
        return command

    stage = [programs.SQUALL, "test", "--latency", "1ms", "--upstream", f"https://{upstream}", "--ca-file", authority, "--time-limit", "60s",
             "--show-output", "--allow-vacuous", "--"]
    done = subprocess.run(stage + filled("{proxy.url}", "{proxy}"), env=environment, capture_output=True, text=True, timeout=120)
    if done.returncode:
        return f"it fails: {(done.stdout + done.stderr).strip()[-600:]}"
    shutil.rmtree(f"{work}/clone", ignore_errors=True)
    without = ["sh", "-c", "unset " + " ".join(VARIABLES) + "; exec \"$@\"", "sh"]
    done = subprocess.run(stage + without + filled("{proxy.url}", "{proxy}"), env=environment, capture_output=True, text=True, timeout=120)
    if done.returncode != 1:
        return "it trusts the authority without the variables"
    for host, is_ours in (("localhost", True), ("other.test", False)) if name in NAMED else ():
        command = [part.replace("{name}", host).replace("{work}", work) for part in NAMED[name]]
        done = subprocess.run(stage + command, env=environment, capture_output=True, text=True, timeout=120)
        if (done.returncode == 0) != is_ours:
            return f"it {'refuses' if is_ours else 'takes'} the name {host}: {(done.stdout + done.stderr).strip()[-600:]}"
    return None


if __name__ == "__main__":
    main()
