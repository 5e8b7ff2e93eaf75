"""A shell into which blocks of the documentation are pasted."""
import contextlib, os, re, shutil, signal, subprocess, tempfile

from . import programs

LONGEST = 300

# What a reader does by hand: a server that stays in the foreground gets a terminal of its own, and Ctrl-C before another
# one takes its port.
SQUALL = """#!/bin/bash
if [[ $1 == serve && -n ${SERVE_PORT:-} && " $* " != *" --port "* ]]; then set -- "$@" --port "$SERVE_PORT"; fi
case " $* " in *" --detach "*|*" --print-profile "*|*" --help "*) exec "$SQUALL" "$@" ;; esac
case $1 in run|serve|origin|replay) ;; *) exec "$SQUALL" "$@" ;; esac
mkdir -p "$SQUALL_SHELL/running"
keys=$(grep -oE -- '--(listen|port|forward-proxy) [^ ]+' <<<"$*" | grep -oE '[0-9]+$')
for key in $keys; do
    if [[ -e $SQUALL_SHELL/running/$key ]]; then
        process=$(<"$SQUALL_SHELL/running/$key")
        kill "$process" && while kill -0 "$process" 2>/dev/null; do sleep 0.02; done
    fi
done
output=$("$SQUALL" "$@" --detach) || exit
echo "$output"
for key in $keys; do sed -n 's/^detached: process \\([0-9]*\\),.*/\\1/p' <<<"$output" >"$SQUALL_SHELL/running/$key"; done
"""


class Shell:
    """A bash in a new folder, into which blocks are pasted one after the other. `tools` are further programs, as texts."""

    def __init__(self, files=(), tools=(), **more):
        self.folder = tempfile.mkdtemp(prefix="squall-readme-")
        for name, text in files:
            self.write(name, text)
        for name, text in [("squall", SQUALL), *tools]:
            self.write(os.path.join(".tools", name), text, 0o755)
        plain = {name: value for name, value in os.environ.items() if not re.match(r"(?i)(.*_proxy$|GITHUB_|PG)", name)}
        environment = {**plain, "SQUALL_PROFILES": os.path.join(programs.ROOT, "Profiles"), "SQUALL": programs.SQUALL,
                       "TMPDIR": self.folder,
                       "SQUALL_SHELL": os.path.join(self.folder, ".tools"), **more}
        environment["PATH"] = os.path.join(self.folder, ".tools") + os.pathsep + environment["PATH"]
        self.bash = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     cwd=self.folder, env=environment, text=True, bufsize=1, start_new_session=True)
        self.output = ""

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def paste(self, block):
        """Pastes a block and waits for its end; the exit code of its last command."""
        signal.signal(signal.SIGALRM, late)
        signal.alarm(LONGEST)
        self.bash.stdin.write(f"{block}\necho \"== $?\"\n")
        self.bash.stdin.flush()
        for said in self.bash.stdout:
            ended = re.search(r"== (\d+)$", said.rstrip("\n"))
            if ended:
                self.output += said[: ended.start()]
                signal.alarm(0)
                return int(ended[1])
            self.output += said
        raise programs.Failure("bash has ended")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        signal.alarm(0)
        # What --detach has started, and the daemon of the queue, have a session of their own, and tell their process.
        for process in re.findall(r"^(?:detached:|.*the queue's daemon,) process (\d+),", self.output, re.MULTILINE):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        for log in re.findall(r"its log is (\S+)$", self.output, re.MULTILINE):
            with contextlib.suppress(FileNotFoundError):
                os.remove(log)
        os.killpg(self.bash.pid, signal.SIGKILL)  # The session is of its own, with what was started in it.
        self.bash.wait()
        self.bash.stdin.close()
        self.bash.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def late(*_):
    raise programs.Failure(f"no end after {LONGEST} s")
