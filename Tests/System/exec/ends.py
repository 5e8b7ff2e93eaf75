#!/usr/bin/env python3
"""Ends `squall exec` in every way: is anything left behind, and is the terminal as before?

    make exec                                     with the programs
    SQUALL=.build/debug/squall python3 Tests/System/exec/ends.py --times 50

squall      SIGKILL of squall: the command and what it has started are killed
command     SIGKILL of the command: squall ends by the same signal
below       SIGKILL of a process that the command has started: the command goes on
ctrl-c      on a terminal: the command's SIGINT ends both
after       on a terminal: Ctrl-C when the command has ended ends what it has left
ctrl-z      on a terminal: both stop, and go on with fg
itself      on a terminal: a command that has stopped itself goes on by Ctrl-Z and fg
inside      a process of the command stops it, and has it go on or kills it: squall isn't stopped
timeout     SIGTERM of squall and then of its process group: the command cleans up
hangup      the terminal closes: the command cleans up
daemon      a process that has left the command's session: squall waits for its end
many        200 processes that connect at once

Afterwards no process of it lives, no socket of it listens, and the terminal echoes. Exits 1 if something doesn't hold.
"""
import argparse, os, pty, re, select, signal, socket, subprocess, sys, tempfile, termios, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from kit import programs

PATIENCE = 30
FAULT = ["--latency", "1ms"]


class Wrong(Exception):
    pass


def mark():
    """An argument by which the processes of one round are found."""
    return f"squall-round-{os.urandom(8).hex()}"


def living(word):
    """The processes with a word among their arguments or in their environment."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                is_meant = word.encode() in file.read()
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                is_zombie = file.read().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:
            continue
        if is_meant and not is_zombie:
            found.append(int(entry))
    return found


def wait(holds, what):
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise Wrong(what)
        time.sleep(0.01)


def nothing_left(word):
    wait(lambda: not living(word), "processes are left")


def start(script, word, **more):
    return subprocess.Popen([programs.SQUALL, "exec", *FAULT, "--", "sh", "-c", script], env={**os.environ, "SQUALL_ROUND": word},
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, **more)


def numbers(process, count):
    """The process numbers that a script prints, a line each."""
    return [int(process.stdout.readline()) for _ in range(count)]


def squall():
    word = mark()
    process = start("sleep 1000 & echo $!; (setsid sh -c 'echo $$; sleep 1000' &); sleep 1000", word)
    numbers(process, 2)
    process.kill()
    process.wait()
    nothing_left(word)


def command():
    word = mark()
    process = start("sleep 1000 & echo $$; wait", word)
    os.kill(numbers(process, 1)[0], signal.SIGKILL)
    # What the command has started lives on, until it ends by itself or squall is ended.
    wait(lambda: len(living(word)) == 3, "the shell's child doesn't live on")
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENCE)
    nothing_left(word)


def below():
    word = mark()
    process = start("sh -c 'sleep 1000 & echo $$; echo $!; wait' & wait; exit 5", word)
    for one in numbers(process, 2):
        os.kill(one, signal.SIGKILL)
    if process.wait(PATIENCE) != 5:
        raise Wrong(f"exit code {process.returncode}")
    nothing_left(word)


class Terminal:
    """A shell with job control on a terminal of its own."""

    def __init__(self, word):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            # They are ignored where this runs in the background, and would be by the command.
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"], {**os.environ, "SQUALL_ROUND": word, "PS1": "$ "})
        self.said = ""

    def type(self, text):
        self.said = ""
        os.write(self.terminal, text.encode())

    def until(self, pattern):
        end = time.monotonic() + PATIENCE
        while not re.search(pattern, self.said):
            if time.monotonic() > end:
                raise Wrong(f"the terminal doesn't say {pattern}: {self.said[-300:]!r}")
            if select.select([self.terminal], [], [], 0.1)[0]:
                self.said += os.read(self.terminal, 65_536).decode(errors="replace")

    def close(self):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.terminal)


TICKS = "n=0; while :; do n=$((n+1)); echo tick-$n; sleep 0.02; done"


def terminal(use, script=TICKS):
    word = mark()
    made = Terminal(word)
    try:
        made.until(r"\$ ")
        made.type(f"{programs.SQUALL} exec {' '.join(FAULT)} -- sh -c '{script}'\n")
        made.until(r"tick-\d+\r\n")
        use(made)
        made.type("\x03")
        made.until(r"\$ ")
        made.type("echo code=$?\n")
        made.until(r"code=130\r")
        if not termios.tcgetattr(made.terminal)[3] & termios.ISIG:
            raise Wrong("the terminal is not as before")
        wait(lambda: len(living(word)) == 1, "processes are left beside the shell")
    finally:
        made.close()


def go_on(made):
    made.until(r"Stopped[\s\S]*\$ ")
    made.type("fg\n")
    made.until(r"fg\r\n[\s\S]*tick-\d+\r\n")


def stop(made):
    made.type("\x1a")
    go_on(made)


def itself(made):
    number = re.search(r"tick-(\d+)", made.said)[1]
    with open(f"/proc/{number}/stat", encoding="utf-8") as file:
        wait(lambda: file.seek(0) or file.read().split()[2] == "T", "the command doesn't stop")
    stop(made)


def inside():
    for name, code in (("CONT", 4), ("KILL", -signal.SIGKILL)):
        word = mark()
        process = start(f"(sleep 0.3; kill -{name} $$) & kill -STOP $$; exit 4", word, start_new_session=True)
        if process.wait(PATIENCE) != code:
            raise Wrong(f"exit code {process.returncode}")
        nothing_left(word)


def timeout():
    word = mark()
    process = start("trap 'sleep 0.3; echo cleaned; exit 3' TERM; echo ready; while :; do sleep 0.02; done", word, start_new_session=True)
    process.stdout.readline()
    # As timeout(1) does.
    process.send_signal(signal.SIGTERM)
    os.killpg(process.pid, signal.SIGTERM)
    said = process.stdout.read()
    if process.wait(PATIENCE) != 3 or said != "cleaned\n":
        raise Wrong(f"exit code {process.returncode}, {said!r}")
    nothing_left(word)


def hangup():
    word = mark()
    with tempfile.TemporaryDirectory() as folder:
        place = os.path.join(folder, "cleaned")
        made = Terminal(word)
        made.until(r"\$ ")
        script = f'trap "sleep 0.3; echo >{place}; exit" HUP; echo tick-$((1 + 1)); while :; do sleep 0.02; done'
        made.type(f"{programs.SQUALL} exec {' '.join(FAULT)} -- sh -c '{script}'\n")
        made.until(r"tick-2\r\n")
        os.close(made.terminal)
        wait(lambda: os.waitpid(made.process, os.WNOHANG)[0], "the shell doesn't end")
        wait(lambda: os.path.exists(place), "the command didn't clean up")
        nothing_left(word)


def told(made):
    made.until("the command has ended, and processes that it has started haven't: Ctrl-C ends them")


def daemon():
    word = mark()
    process = start("(setsid sh -c 'echo $$; sleep 0.3' &); exit 4", word)
    numbers(process, 1)
    if process.wait(PATIENCE) != 4:
        raise Wrong(f"exit code {process.returncode}")
    if living(word):
        raise Wrong("squall has ended before a process that it should wait for")


def many():
    word = mark()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(512)

        def serve():
            for _ in range(200):
                listener.accept()[0].close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        port = listener.getsockname()[1]
        script = f"for n in $(seq 200); do bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' & done; wait"
        process = start(script, word)
        if process.wait(2 * PATIENCE):
            raise Wrong(f"exit code {process.returncode}")
        thread.join(PATIENCE)
        if thread.is_alive():
            raise Wrong("not all of 200 have connected")
    nothing_left(word)


WAYS = {"squall": squall, "command": command, "below": below, "ctrl-c": lambda: terminal(lambda _: None), "ctrl-z": lambda: terminal(stop),
        "itself": lambda: terminal(itself, f"echo tick-$$; kill -TSTP $$; {TICKS}"), "inside": inside, "timeout": timeout, "hangup": hangup,
        "after": lambda: terminal(told, "setsid sleep 1000 & echo tick-$((1 + 1))"),
        "daemon": daemon, "many": many}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ways", nargs="*", choices=[*WAYS, []], help="the ways that are meant; all without one")
    parser.add_argument("--times", type=int, default=5, help="how often each is tried")
    options = parser.parse_args()
    programs.need_squall()
    bad = []
    for name, way in WAYS.items():
        if options.ways and name not in options.ways:
            continue
        held = 0
        for _ in range(options.times):
            try:
                way()
                held += 1
            except (Wrong, OSError, ValueError, subprocess.TimeoutExpired) as problem:
                print(f"    {name}: {problem}", flush=True)
        print(f"{'ok ' if held == options.times else 'BAD'} {name:8} {held} of {options.times}", flush=True)
        if held < options.times:
            bad.append(name)
    if bad:
        raise SystemExit(f"not all hold: {', '.join(bad)}")
    print("all hold")


main()
