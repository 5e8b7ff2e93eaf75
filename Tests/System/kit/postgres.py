"""A PostgreSQL of its own in a new folder, on a free port and on a Unix socket, and queries to it by psql."""
import glob, os, pwd, re, shutil, subprocess, tempfile

from . import programs


def binaries():
    """The folder of initdb and postgres, which Debian keeps off the path; None where they aren't installed."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"), key=lambda path: int(path.split("/")[4]))
    if found:
        return os.path.dirname(found[-1])
    return os.path.dirname(shutil.which("postgres") or "") or None


class Postgres:
    """Runs until the end of its block. PostgreSQL refuses to be root, so its user is `postgres` then, or else `nobody`."""

    def __init__(self):
        self.user = None
        if os.geteuid() == 0:
            known = {entry.pw_name for entry in pwd.getpwall()}
            self.user = "postgres" if "postgres" in known else "nobody"
        self.port = programs.free_port()

    def run(self, *command):
        subprocess.run([*self.prefix, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       cwd=self.folder)

    @property
    def prefix(self):
        return ["runuser", "-u", self.user, "--"] if self.user else []

    @property
    def socket(self):
        return self.name(self.port)

    def name(self, port):
        """The path at which psql looks for the socket of a port."""
        return f"{self.folder}/.s.PGSQL.{port}"

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="squall-pg-", dir="/tmp")
        os.chmod(self.folder, 0o755)
        if self.user:
            shutil.chown(self.folder, self.user)
        programs_folder = binaries()
        try:
            data = f"{self.folder}/data"
            self.run(f"{programs_folder}/initdb", "-D", data, "-U", "squall", "-A", "trust", "--no-sync")
            options = (f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder} "
                       "-c fsync=off")
            self.run(f"{programs_folder}/pg_ctl", "-D", data, "-w", "-t", "60", "-l", f"{self.folder}/log",
                     "-o", options, "start")
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        return self

    def __exit__(self, *_):
        self.run(f"{binaries()}/pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def query(self, host, port, *statements):
        """What psql prints, and how it ended: `host` is an address, or the folder of a Unix socket."""
        command = ["psql", "-X", "-At", "-h", host, "-p", str(port), "-U", "squall", "-d", "postgres"]
        for statement in statements:
            command += ["-c", statement]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def milliseconds(self, host, port):
        """The time of a query on an open connection, as psql measures it."""
        _, output, _ = self.query(host, port, "\\timing on", "select 1", "select 2")
        return float(re.findall(r"Time: ([\d.]+) ms", output)[-1])
