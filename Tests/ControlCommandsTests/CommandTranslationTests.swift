import Testing

@testable import ControlCommands

/// Command lines in the forms of Toxiproxy's programs.
@Suite struct CommandTranslationTests {
    /// The translation of a line, split at its spaces.
    private func translated(_ line: String) -> String {
        let words = line.split(separator: " ").map(String.init)
        switch CommandTranslation.translate(program: words[0], Array(words.dropFirst())) {
        case .arguments(let arguments): return arguments.joined(separator: " ")
        case .text(let text): return "prints \(text)"
        }
    }

    @Test(arguments: [
        ("squall run x --listen a:1", "run x --listen a:1"),
        ("squall serve -host=0.0.0.0 -config=/x", "serve --host=0.0.0.0 --config=/x"),
        ("squall serve --port 1 --strict-compat", "serve --port=1 --strict-compat"),
        ("squall serve -h", "serve -h"),
        ("/usr/bin/toxiproxy-server -port 1 --host=h", "serve --starts-anyway --port=1 --host=h"),
        ("toxiproxy-server -proxy-metrics --runtime-metrics=true", "serve --starts-anyway"),
        ("toxiproxy-server -seed -2", "serve --starts-anyway --seed=18446744073709551614"),
        ("toxiproxy-server -version", "prints toxiproxy-server version 2.12.0"),
        ("toxiproxy-server --version=false -config x", "serve --starts-anyway --config=x"),
        ("toxiproxy-server -h", "serve --starts-anyway --help"),
        ("toxiproxy-server -config", "serve --starts-anyway --config"),
        ("/toxiproxy -host=0.0.0.0 -config=/x", "serve --starts-anyway --host=0.0.0.0 --config=/x"),
        ("/toxiproxy", "serve --starts-anyway"),
        ("/toxiproxy --version", "prints toxiproxy-server version 2.12.0"),
        ("/toxiproxy run x --listen a:1", "run x --listen a:1"),
        ("/toxiproxy serve -host=h", "serve --host=h"),
    ])
    func `Go's flags of a server become options`(given: String, expected: String) {
        #expect(translated(given) == expected)
    }

    @Test(arguments: [
        ("toxiproxy-cli --version", "prints toxiproxy-cli version 2.12.0"),
        ("./toxiproxy-cli", "ctl"),
        ("toxiproxy-cli -h http://x ls", "ctl ls --host=http://x"),
        ("squall ctl --host=http://x --json ls", "ctl ls --host=http://x --json"),
        ("squall ctl help toxic add", "help ctl toxic add"),
        ("toxiproxy-cli create -l a:1 -upstream=b:2 db", "ctl create db --listen=a:1 --upstream=b:2"),
        ("squall ctl -u b:2 create db -l :1", "ctl create db --upstream=b:2 --listen=:1"),
        ("toxiproxy-cli create -l :1 -u b:2 db", "ctl create db --listen=[::]:1 --upstream=b:2"),
        ("squall ctl --for 3s fault add db f kind=cut", "ctl fault add db f kind=cut --for=3s"),
        ("toxiproxy-cli new -u b:2 -l a:1 db", "ctl new db --upstream=b:2 --listen=a:1"),
        (
            "toxiproxy-cli toxic add -t latency -n x -tox 0.5 -a latency=1 -a jitter=-1 -u db",
            "ctl toxic add db --type=latency --toxicName=x --toxicity=0.5 --attribute=latency=1 --attribute=jitter=-1 "
                + "--upstream"
        ),
        ("toxiproxy-cli t a -u=false -d db", "ctl t a db --downstream"),
        ("toxiproxy-cli t d -n db db", "ctl t d db --toxicName=db"),
        ("squall ctl journal -f --proxy db", "ctl journal --follow --proxy=db"),
        ("squall ctl inspect -- -x", "ctl inspect -- -x"),
        ("squall ctl list --bogus", "ctl list --bogus"),
        ("squall ctl list -h", "ctl list --host"),
    ])
    func `options of the client go after its command`(given: String, expected: String) {
        #expect(translated(given) == expected)
    }

    @Test(arguments: [
        (["kind=latency", "delay=200 ms"], #"{"kind":"latency","delay":"200 ms"}"#),
        (["kind=cut", "when={\"connection\": 1}", "x=a=b"], #"{"kind":"cut","when":{"connection": 1},"x":"a=b"}"#),
        ([#"{"kind": "cut"}"#], #"{"kind": "cut"}"#),
    ])
    func `a fault is an object, or its members`(words: [String], text: String) throws {
        #expect(try SetFaultControl.fault(words[...]) == text)
    }

    @Test(arguments: [["kind=latency", "delay=20 ms"], ["kind=outage"], [#"{"kind": "cut"}"#], [#"{"kind":"#, "1"]])
    func `a fault without a name is refused, and one with a name isn't`(words: [String]) throws {
        for all in [false, true] {
            var control = SetFaultControl()
            control.all = all
            control.words = (all ? [] : ["db"]) + words
            let error = try #require(#expect(throws: (any Error).self) { try control.validate() })
            #expect("\(error)" == "the name of the fault is missing: write NAME before “\(words[0])”")
            for name in ["slow", "rtt=80ms", "{1}"] {
                control.words = (all ? [] : ["db"]) + [name, "kind=latency", "delay=20 ms"]
                try control.validate()
            }
        }
    }
}
