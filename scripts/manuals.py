#!/usr/bin/env python3
"""Writes the manual pages of squall, in mdoc(7), from the command's own description of itself.

    scripts/manuals.py PROGRAM FOLDER

PROGRAM is a built squall, FOLDER gets squall.1 and a page for each subcommand. The environment is the table of
docs/command.md. The date is SOURCE_DATE_EPOCH, or today.
"""
import datetime, json, os, re, subprocess, sys, textwrap

EXIT_CODES = [
    ("0", "Done; for get: proved, or complete as far as HTTP can tell, with a warning."),
    ("1", "Failed."),
    ("2", "The input was wrong: usage, profile or address."),
    ("75", "Failed for now; the same command goes on where it has stopped."),
    ("130, 143", "Ended at once by a second Ctrl-C or SIGTERM."),
]
FOLDERS = [
    ("../share/squall/profiles", "The shipped profiles, beside the folder of the program."),
    ("~/.local/state/squall/uploads", "The state of unfinished uploads."),
    ("~/.local/state/squall/queues", "The queues of squall queue."),
    ("~/.config/squall/networks", "Which networks are metered, for the daemon of squall queue."),
    ("/etc/default/squall", "Variables of the service, such as SQUALL_OPTIONS, its further options."),
]


def escaped(text):
    """A text that roff(7) shows as it is."""
    return guarded(text.replace("\\", "\\e").replace("-", "\\-"))


def guarded(line):
    """A line that doesn't begin with a macro."""
    return re.sub(r"^([.'])", r"\\&\1", line)


def sentences(text):
    """The lines of a paragraph: each sentence begins a new one. The pages of docs/ aren't installed, so none is named."""
    words = re.sub(r"[,;] see (docs/)?[a-z-]+\.md", "", " ".join(text.split()))
    lines = re.sub(r"(?<=[A-Za-z0-9)”][.:?!]) (?=[A-Z“])", "\n", words).split("\n")
    # mandoc(1) counts a character beyond ASCII as eight, such as \[u201C].
    wide = [re.sub("[^ -~]", lambda other: other[0].ljust(8, "\0"), escaped(line)) for line in lines]
    parts = [part for line in wide for part in textwrap.wrap(line, 78, break_on_hyphens=False)]
    return [guarded(part.replace("\0", "")) for part in parts]


def paragraphs(text):
    """Paragraphs, and the examples that some are: lines that begin with `Example: `."""
    texts, examples = [], []
    for paragraph in re.split(r"\n\s*\n", text or ""):
        if re.match("Examples?: ", paragraph.strip()):
            lines = [re.sub("^Examples?: ", "", line.strip()) for line in paragraph.splitlines()]
            examples += [line for line in lines if line]
        elif paragraph.strip():
            texts.append(sentences(paragraph))
    return texts, examples


def body(texts):
    return "\n.Pp\n".join("\n".join(lines) for lines in texts)


def quoted(word):
    """An argument of a macro, in quotes if it has to be."""
    word = escaped(word).replace('"', "\\(dq")
    return f'"{word}"' if " " in word or not word else word


def flag(name):
    """`.Fl` writes one dash; the other one of a long name is written out."""
    return f"Fl {name['name']}" if name["kind"] == "short" else f"Fl \\-{escaped(name['name'])}"


def shown(arguments):
    return [argument for argument in arguments if argument["shouldDisplay"] and "valueName" in argument]


def synopsis(arguments):
    """The arguments; a command of the user's, which stands behind `--`, is the last."""
    lines, command = [], []
    for argument in shown(arguments):
        if argument.get("parsingStrategy") == "postTerminator":
            text = f"\\-\\- Ar {quoted(argument['valueName'])} Op Ar argument ..."
            command = [f".Op {text}" if argument["isOptional"] else f".{text}"]
            continue
        value = f"Ar {quoted(argument['valueName'])}"
        if argument["kind"] == "positional":
            text = value
        elif argument["kind"] == "flag":
            text = flag(argument["preferredName"])
        else:
            text = f"{flag(argument['preferredName'])} {value}"
        if argument["isRepeating"]:
            text += " ..."
        lines.append(f".Op {text}" if argument["isOptional"] else f".{text}")
    return lines + command


def described(argument):
    text = argument.get("abstract", "")
    default = argument.get("defaultValue")
    if default and argument["kind"] != "flag":
        text += f" (default: {default})"
    return "\n".join(sentences(text)) or "\\&"


def options(arguments):
    lines = [".Bl -tag -width Ds"]
    for argument in shown(arguments):
        value = f"Ar {quoted(argument['valueName'])}"
        if argument["kind"] == "positional":
            lines.append(f".It {value}")
        else:
            names = sorted(argument["names"], key=lambda name: name["kind"] != "short")
            lines.append(".It " + " , ".join(map(flag, names)) + ("" if argument["kind"] == "flag" else f" {value}"))
        lines.append(described(argument))
    return lines + [".El"] if len(lines) > 1 else []


def examples(lines):
    if not lines:
        return []
    return [".Sh EXAMPLES", ".Bd -literal -offset indent", *map(escaped, lines), ".Ed"]


def head(name, abstract, date, version):
    return [
        ".\\\" Made by scripts/manuals.py from the command itself.",
        f".Dd {date:%B} {date.day}, {date.year}", f".Dt {name.upper()} 1", f".Os Squall {version}", ".Sh NAME", f".Nm {name}",
        f".Nd {escaped(abstract[:1].lower() + abstract[1:].rstrip('.'))}",
    ]


def exit_status():
    lines = [".Sh EXIT STATUS", ".Bl -tag -width Ds"]
    for code, text in EXIT_CODES:
        lines += [f".It {code}", *sentences(text)]
    return lines + [".El"]


def environment():
    """The table of variables of docs/command.md."""
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../docs/command.md")
    with open(page, encoding="utf-8") as file:
        section = re.search(r"^## Environment\n(.*?)^## ", file.read(), re.S | re.M)
    rows = re.findall(r"^\| (`.*?) \| (.*) \|$", section[1] if section else "", re.M)
    if not rows:
        sys.exit(f"{page}: no table of variables below “## Environment”")
    lines = [".Sh ENVIRONMENT", ".Bl -tag -width Ds"]
    for names, text in rows:
        names = " , ".join(f"Ev {escaped(name)}" for name in re.findall("`([^`]+)`", names))
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "")
        lines += [f".It {names}", *sentences(text[:1].upper() + text[1:] + ".")]
    return lines + [".El"]


def see_also(names):
    names = sorted(names)
    return [".Sh SEE ALSO"] + [f".Xr {name} 1{' ,' if name != names[-1] else ''}" for name in names]


def main_page(command, *edition):
    visible = [sub for sub in command["subcommands"] if sub["shouldDisplay"] and sub["commandName"] != "help"]
    lines = head("squall", command["abstract"], *edition)
    lines += [".Sh SYNOPSIS", ".Nm", ".Ar command", ".Op Ar argument ...", ".Nm", ".Cm help", ".Op Ar command"]
    lines += [".Sh DESCRIPTION", ".Nm", "is a proxy that injects the faults of a bad network between client and server."]
    lines += ["A profile, which is a JSON file, says which faults act and when.", "The commands are:"]
    lines += [".Bl -tag -width Ds"]
    for sub in visible:
        lines += [f".It Xr squall-{sub['commandName']} 1", *sentences(sub["abstract"])]
    lines += [".El", ".Pp", "Called by the name", ".Nm toxiproxy-cli", "it is", ".Xr squall-ctl 1 ,", "by the name"]
    lines += [".Nm toxiproxy-server", "it is", ".Xr squall-serve 1", "with the flags of Toxiproxy."]
    lines += environment()
    lines += [".Sh FILES", ".Bl -tag -width Ds"]
    for path, text in FOLDERS:
        lines += [f".It Pa {quoted(path)}", *sentences(text)]
    lines += [".El", *exit_status()]
    lines += examples(["squall demo", "squall run wifi-roam --listen 127.0.0.1:8081 --upstream 127.0.0.1:8080"])
    return lines + see_also(f"squall-{sub['commandName']}" for sub in visible)


def page(command, *edition):
    name = f"squall-{command['commandName']}"
    texts, shown_examples = paragraphs(command.get("discussion"))
    lines = head(name, command["abstract"], *edition)
    subs = [sub for sub in command.get("subcommands", []) if sub["shouldDisplay"] and sub["commandName"] != "help"]
    lines += [".Sh SYNOPSIS", f".Nm squall {command['commandName']}"]
    lines += [".Ar command", ".Op Ar argument ..."] if subs else synopsis(command["arguments"])
    lines += [".Sh DESCRIPTION", *sentences(command["abstract"])]
    if texts:
        lines += [".Pp", body(texts)]
    listed = options(command["arguments"])
    if listed:
        lines += [".Pp", "The options are:", *listed]
    for sub in subs:
        lines += subcommand([command["commandName"]], sub)
    if not any(line.startswith("Exit codes: ") for text in texts for line in text):
        lines += exit_status()
    lines += examples(shown_examples)
    return lines + see_also(["squall"])


def subcommand(parents, command):
    """A section of a subcommand's subcommand, and those of its own."""
    words = [*parents, command["commandName"]]
    texts, shown_examples = paragraphs(command.get("discussion"))
    lines = [f".Ss squall {' '.join(map(escaped, words))}"]
    subs = [sub for sub in command.get("subcommands", []) if sub["shouldDisplay"] and sub["commandName"] != "help"]
    if not subs:
        lines += [f".Nm squall {' '.join(map(escaped, words))}", *synopsis(command["arguments"]), ".Pp"]
    lines += sentences(command["abstract"])
    if aliases := command.get("aliases"):
        lines += [f"Also: {', '.join(map(escaped, aliases))}."]
    if texts:
        lines += [".Pp", body(texts)]
    if not subs:
        lines += options(command["arguments"])
    if shown_examples:
        lines += [".Bd -literal -offset indent", *map(escaped, shown_examples), ".Ed"]
    for sub in subs:
        lines += subcommand(words, sub)
    return lines


def output(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: exit code {result.returncode}: {result.stderr.strip()}")
    return result.stdout


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    program, folder = sys.argv[1:]
    command = json.loads(output(program, "--experimental-dump-help"))["command"]
    version = output(program, "--version").strip()
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    date = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc) if epoch else datetime.date.today()
    os.makedirs(folder, exist_ok=True)
    pages = {"squall": main_page(command, date, version)}
    for sub in command["subcommands"]:
        if sub["shouldDisplay"] and sub["commandName"] != "help":
            pages[f"squall-{sub['commandName']}"] = page(sub, date, version)
    for name, lines in pages.items():
        with open(os.path.join(folder, f"{name}.1"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
