"""Servers of their own, each on a free port of 127.0.0.1, for programs that speak something else than HTTP."""
import contextlib, os, pwd, shutil, subprocess, sys

from kit import programs

# Debian's, whose packages have the modules.
PYTHON3 = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
GRPC = """
import grpc, os, sys
from concurrent import futures
body = os.urandom(int(sys.argv[2]))
class Handler(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(lambda request, context: body)
server = grpc.server(futures.ThreadPoolExecutor(4))
server.add_generic_rpc_handlers((Handler(),))
server.add_insecure_port("127.0.0.1:" + sys.argv[1])
server.start()
server.wait_for_termination()
"""
MEANT = {"ssh": "ssh", "git ssh": "ssh", "rsync": "rsync", "mariadb": "mariadb", "grpcio": "grpc"}


@contextlib.contextmanager
def running(command, port, **more):
    """A server from when it listens to the end of the block."""
    process = programs.start(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    try:
        programs.wait_until_listening(process, port)
        yield port
    finally:
        programs.end(process)


def key(folder, name):
    path = os.path.join(folder, name)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path


def ssh(folder, _):
    """OpenSSH's server, which lets this user in by the key in `folder`."""
    host, user, port = key(folder, "host"), key(folder, "user"), programs.free_port()
    if os.geteuid() == 0:
        # The client is nobody, and sshd's own folder is made by its service.
        os.chown(user, 65534, 65534)
        os.makedirs("/run/sshd", exist_ok=True)
    config = os.path.join(folder, "sshd_config")
    with open(config, "w", encoding="utf-8") as file:
        file.write(f"Port {port}\nListenAddress 127.0.0.1\nHostKey {host}\nAuthorizedKeysFile {user}.pub\nStrictModes no\nUsePAM no\n"
                   f"PermitRootLogin yes\nPasswordAuthentication no\nPidFile none\nMaxStartups 100\n")
    return running([shutil.which("sshd") or "/usr/sbin/sshd", "-D", "-e", "-f", config], port)


def rsync(folder, served):
    port, config = programs.free_port(), os.path.join(folder, "rsyncd.conf")
    with open(config, "w", encoding="utf-8") as file:
        file.write(f"use chroot = no\n[served]\npath = {served}\n")
    return running(["rsync", "--daemon", "--no-detach", f"--port={port}", "--address=127.0.0.1", f"--config={config}"], port)


def mariadb(folder, _):
    """A MariaDB without a password."""
    data, port = os.path.join(folder, "mariadb"), programs.free_port()
    user = pwd.getpwuid(os.geteuid()).pw_name
    subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={data}", f"--user={user}", "--auth-root-authentication-method=normal"],
                   check=True, capture_output=True)
    return running([shutil.which("mariadbd") or "/usr/sbin/mariadbd", "--no-defaults", f"--datadir={data}", f"--user={user}", f"--port={port}",
                    "--bind-address=127.0.0.1", f"--socket={data}/socket", "--skip-name-resolve", f"--pid-file={data}/pid"], port)


def grpc(folder, _):
    port = programs.free_port()
    return running([PYTHON3, "-c", GRPC, str(port), "300000"], port)


@contextlib.contextmanager
def started(folder, served, is_meant):
    """The ports of the servers that the meant programs need, by their names."""
    made = {"ssh": ssh, "rsync": rsync, "mariadb": mariadb, "grpc": grpc}
    wanted = dict.fromkeys(server for name, server in MEANT.items() if is_meant(name))
    with contextlib.ExitStack() as stack:
        ports = {}
        for name in wanted:
            try:
                ports[name] = stack.enter_context(made[name](folder, served))
            except (OSError, subprocess.CalledProcessError, programs.Failure) as error:
                print(f"the server for {name} can't be started: {error}", flush=True)
        yield ports
