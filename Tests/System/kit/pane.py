"""A program in a tmux pane of a given size, on a tmux server of its own."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path


class Pane:
    """Runs `command`, a list, with `environment` in a pane; use it in a `with` statement."""

    def __init__(self, command, columns, rows=40, environment=None, folder=None):
        self.folder = Path(tempfile.mkdtemp(prefix="squall-terminal-"))
        self.raw = self.folder / "raw"
        # tmux draws in UTF-8 whatever the locale of the program is.
        self.environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        assignments = [f"{name}={value}" for name, value in (environment or {}).items()]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", rows, "-s", "main", "sleep 1000")
        self.tmux("set-option", "-g", "remain-on-exit", "on")
        self.tmux("set-option", "-g", "remain-on-exit-format", "")
        self.tmux("set-option", "-g", "history-limit", "10000")
        self.tmux("set-option", "-g", "status", "off")
        self.tmux("set-option", "-g", "default-terminal", "tmux-256color")
        self.tmux("set-option", "-g", "window-size", "manual")
        # Without a shell, which would echo the command. The output is recorded from the first byte on.
        gate = self.folder / "gate"
        os.mkfifo(gate)
        inner = ["env", "-u", "NO_COLOR", *assignments, *map(str, command)]
        # The shell outlives Ctrl-C, for the exit code.
        self.code = self.folder / "code"
        script = f'trap : INT; read line < {gate}; "$0" "$@"; echo $? > {self.code}'
        self.tmux("respawn-pane", "-k", "-t", "main", "-c", folder or ".", "sh", "-c", script, *inner)
        self.resize(columns, rows)
        self.tmux("pipe-pane", "-t", "main", f"cat > {self.raw}")
        gate.write_text("go\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server", check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def tmux(self, *arguments, check=True):
        result = subprocess.run(
            ["tmux", "-S", str(self.folder / "socket"), *map(str, arguments)], env=self.environment, capture_output=True, text=True)
        if check and result.returncode != 0:
            raise RuntimeError(f"tmux {' '.join(map(str, arguments))}: {result.stderr}")
        return result.stdout

    def resize(self, columns, rows=40):
        self.tmux("resize-window", "-t", "main", "-x", columns, "-y", rows)

    def type(self, keys):
        self.tmux("send-keys", "-t", "main", keys)

    def lines(self, joined=False, colored=False, history=True):
        """The lines on the pane; `joined` puts the parts of wrapped lines together."""
        options = [option for option, isOn in (("-J", joined), ("-e", colored)) if isOn]
        start = ["-S", "-"] if history else []
        text = self.tmux("capture-pane", "-p", "-t", "main", *options, *start)
        return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n").split("\n")

    def has_ended(self):
        return self.status() is not None

    def status(self):
        """The exit code of a program that has ended."""
        text = self.code.read_text() if self.code.exists() else ""
        return int(text) if text.endswith("\n") else None

    def bytes(self):
        return self.raw.read_bytes()

    def captures(self, seconds=90, interval=0.25, **options):
        """Captures until the program ends; the last one comes after its end."""
        end = time.monotonic() + seconds
        while not self.has_ended():
            if time.monotonic() > end:
                raise RuntimeError(f"the program still runs after {seconds} s:\n" + "\n".join(self.lines()))
            yield self.lines(**options)
            time.sleep(interval)
        # tmux may still have output to draw.
        time.sleep(0.3)
        yield self.lines(**options)
