import FaultProfile
import Testing

@Suite struct ProfileProblemTests {
    @Test(arguments: [
        ("[]", "1:1: a profile is an object, not a list (write “{ \"name\": … }”)"),
        ("{}", "1:1: a profile needs the key “name” (add “\"name\": \"a-name\"”)"),
        ("{ \"name\": \"\" }", "1:11: “name” is empty (write a name of 1 to 100 characters)"),
        ("{ \"name\": 3 }", "1:11: “name” is a text, not a number (write it in double quotes)"),
        ("{ \"name\": null }", "1:11: “name” is a text, not null (write it in double quotes)"),
        ("{ \"name\": \"a\\nb\" }", "1:11: the name “a\\u{a}b” has a control character (delete it)"),
        ("{ \"name\": \"x\", \"fualts\": [] }", "1:16: a profile has no key “fualts” (write “faults”)"),
        ("{ \"name\": \"x\", \"Repeat\": true }", "1:16: a profile has no key “Repeat” (write “repeat”)"),
        (
            "{ \"name\": \"x\", \"toxics\": [] }",
            "1:16: a profile has no key “toxics” (write “\"faults\": [ … ]”)"
        ),
        (
            "{ \"name\": \"x\", \"teleports\": [] }",
            "1:16: a profile has no key “teleports” (its keys are “$schema”, “name”, "
                + "“summary”, “source”, “seed”, “extends”, “when”, “proxies”, “faults”, “phases”, “repeat”)"
        ),
        (
            "{ \"name\": \"x\", \"seed\": -1 }",
            "1:24: “seed” can't be -1 (write a whole number from 0 to "
                + "18446744073709551615, without quotes)"
        ),
        (
            "{ \"name\": \"x\", \"seed\": 1.5 }",
            "1:24: “seed” can't be 1.5 (write a whole number from 0 to "
                + "18446744073709551615, without quotes)"
        ),
        (
            "{ \"name\": \"x\", \"seed\": 18446744073709551616 }",
            "1:24: “seed” can't be 18446744073709551616 (write a "
                + "whole number from 0 to 18446744073709551615, without quotes)"
        ),
        (
            "{ \"name\": \"x\", \"seed\": \"7\" }",
            "1:24: “seed” is a whole number, not a text (write a whole number from 0 "
                + "to 18446744073709551615, without quotes)"
        ),
        (
            "{ \"name\": \"x\", \"repeat\": \"yes\" }",
            "1:26: “repeat” is true or false, not a text (write true or false, "
                + "without quotes)"
        ),
        (
            "{ \"name\": \"x\", \"faults\": {} }",
            "1:26: “faults” must be a list, not an object (write “\"faults\": [ … ]”)"
        ),
        (
            "{ \"name\": \"x\", \"phases\": [{ \"for\": \"1 s\" }] }",
            "1:27: a phase needs the key “name” (add “\"name\": "
                + "\"a-name\"”)"
        ),
        (
            "{ \"name\": \"x\", \"phases\": [{ \"name\": \"a\", \"for\": \"0 s\" }] }",
            "1:49: “for” is zero (write a "
                + "duration above zero, such as “250 ms”)"
        ),
        (
            "{ \"name\": \"x\", \"phases\": [{ \"name\": \"a\" }, { \"name\": \"b\" }] }",
            "1:27: only the last phase may go "
                + "without “for” (say how long this one lasts: add “\"for\": \"5 s\"”)"
        ),
        (
            "{ \"name\": \"x\", \"phases\": [{ \"name\": \"a\", \"for\": \"1 s\" }, { \"name\": \"a\" }] }",
            "1:68: the phase name “a” is taken by another one (line 1) (give this phase a “name” that no other has)"
        ),
        (
            "{ \"name\": \"x\", \"proxies\": [{ \"name\": \"a\", \"listen\": \"h:1\", \"upstream\": \"h:2\" },\n"
                + "{ \"name\": \"b\", \"listen\": \"H:1\", \"upstream\": \"h:3\" }] }",
            "2:26: “H:1” is where another proxy listens (line 1) (take another port, or 0 for a free one)"
        ),
        (
            "{ \"name\": \"x\", \"proxies\": [{ \"name\": \"a\", \"listen\": \"[::A]:1\", \"upstream\": \"h:2\" },\n"
                + "{ \"name\": \"b\", \"listen\": \"[0:0::a]:1\", \"upstream\": \"h:3\" }] }",
            "2:26: “[0:0::a]:1” is where another proxy listens (line 1) (take another port, or 0 for a free one)"
        ),
        (
            "{ \"name\": \"x\", \"proxies\": [{ \"name\": \"a\", \"listen\": \"[::1]:8\", \"upstream\": \"[::1]:8\" }] }",
            "1:76: the proxy “a” forwards to itself (write the server's address, or listen on another port)"
        ),
        (
            "{ \"name\": \"x\", \"proxies\": [{ \"name\": \"a\", \"listen\": \"unix:/s\", \"upstream\": \"h:2\" },\n"
                + "{ \"name\": \"b\", \"listen\": \"unix:/s\", \"upstream\": \"h:3\" }] }",
            "2:26: “unix:/s” is where another proxy listens (line 1) (take another path)"
        ),
        (
            "{ \"name\": \"x\", \"proxies\": [{ \"name\": \"a\", \"listen\": \"unix:/a:0\", \"upstream\": \"unix:/a:0\" }] }",
            "1:78: the proxy “a” forwards to itself (write the server's address, or listen on another path)"
        ),
        (
            "{ \"name\": \"x\", \"proxies\": [{ \"name\": \"a\", \"listen\": \"unix:\", \"upstream\": \"h:2\" }] }",
            "1:53: “unix:” has no name (write a path such as “unix:/run/app.sock”, or an abstract name such as "
                + "“unix:@app”)"
        ),
        (
            "{ \"name\": \"x\", \"proxies\": [{ \"name\": \"a\", \"listen\": \"h:1\", \"upstream\": \"unix:/d/\" }] }",
            "1:72: “/d/” is a folder (write the path of the socket in it)"
        ),
        (
            "{ \"name\": \"x\", \"proxies\": [{ \"name\": \"a\", \"listen\": \"h:1\", \"mode\": \"0660\",\n"
                + "\"upstream\": \"h:2\" }] }",
            "1:68: “mode” is for a Unix socket with a path, and the proxy listens on “h:1” (delete it)"
        ),
        (
            "{ \"name\": \"x\", \"proxies\": [{ \"name\": \"a\", \"listen\": \"unix:/s\", \"mode\": \"rw\",\n"
                + "\"upstream\": \"h:2\" }] }",
            "1:72: “rw” is no file mode (write three octal digits, such as “600” or “660”)"
        ),
        (
            "{ \"name\": \"x\", \"proxies\": [{ \"name\": \"a\", \"listen\": \"unix:/s\", \"mode\": 660,\n"
                + "\"upstream\": \"h:2\" }] }",
            "1:72: “mode” is a file mode, not a number (write three octal digits in quotes, such as “\"0660\"”)"
        ),
        (
            "{ \"name\": \"x\", \"extends\": \"\" }",
            "1:27: “extends” is empty (write the name of a shipped profile or a "
                + "path)"
        ),
        (
            "{ \"name\": \"x\", \"extends\": \"y\" }",
            "1:27: a profile can't extend another one here (copy what it needs "
                + "from the other one)"
        ),
    ])
    func `a mistake in a profile is named with its place`(text: String, problem: String) {
        #expect(problems(text) == [problem])
    }

    @Test(arguments: [
        ("\"listen\": \"localhost\"", "1:40: “localhost” has no port (write host and port, such as “127.0.0.1:8080”)"),
        ("\"listen\": \":80808\"", "1:40: “:80808” has the port “80808” (write a port from 0 to 65535)"),
        (
            "\"listen\": \"localhost:65536\"",
            "1:40: “localhost:65536” has the port “65536” (write a port from 0 to 65535)"
        ),
        ("\"listen\": \"localhost:080\"", "1:40: “localhost:080” has the port “080” (write a port from 0 to 65535)"),
        ("\"listen\": \"localhost:\"", "1:40: “localhost:” has the port “” (write a port from 0 to 65535)"),
        (
            "\"listen\": \"http://h:80\"",
            "1:40: “http://h:80” is a URL, not an address (write “h:80”)"
        ),
        (
            "\"listen\": \"::1:80\"",
            "1:40: “::1:80” has colons in its host (write an IPv6 address in brackets, such as "
                + "“[::1]:80”)"
        ),
        ("\"listen\": \"[1::2::3]:80\"", "1:40: “[1::2::3]” is not an IPv6 address (write one such as “[::1]”)"),
        (
            "\"listen\": \"1.2.3.256:80\"",
            "1:40: “1.2.3.256” is neither a host name nor an address (write one such as "
                + "“localhost”, “127.0.0.1” or “[::1]”)"
        ),
        (
            "\"listen\": \"a..b:80\"",
            "1:40: “a..b” is neither a host name nor an address (write one such as “localhost”, "
                + "“127.0.0.1” or “[::1]”)"
        ),
        ("\"listen\": 8080", "1:40: “listen” is an address, not a number (write one such as “\"127.0.0.1:8080\"”)"),
    ])
    func `a bad address is named with its place`(member: String, problem: String) {
        let proxies = "[{ \(member), \"name\": \"p\", \"upstream\": \"h:80\" }]"
        #expect(problems("{ \"name\": \"x\", \"proxies\": \(proxies) }") == [problem])
    }

    @Test func `an upstream at port 0 is a problem, and so is one without a name`() {
        let text = "{ \"name\": \"x\", \"proxies\": [{ \"listen\": \"[::1]:0\", \"upstream\": \"h:0\" }] }"
        #expect(
            problems(text) == [
                "1:28: a proxy needs the key “name” (add “\"name\": \"a-name\"”)",
                "1:63: “h:0” has the port “0” (write a port from 1 to 65535)",
            ]
        )
    }

    @Test(arguments: [
        "[::]:0", "[::1]:1", "[1:2:3:4:5:6:7:8]:1", "[1:2:3:4:5:6:7::]:1", "[::ffff:1.2.3.4]:1", "a-b.c_d:1",
    ])
    func `an address that is one is taken`(listen: String) throws {
        let proxies = "[{ \"name\": \"p\", \"listen\": \"\(listen)\", \"upstream\": \"h:80\" }]"
        #expect(try profile("{ \"name\": \"x\", \"proxies\": \(proxies) }").proxies.map(\.listen) == [listen])
    }

    @Test(arguments: [
        "[:]:1", "[:::]:1", "[1:2:3:4:5:6:7]:1", "[1:2:3:4:5:6:7:8::]:1", "[1.2.3.4]:1", "[::1.2.3]:1", "[12345::]:1",
        "[::g]:1", "[]:1", "-a:1", "a-:1", "a b:1", "1.2.3:1", "01.2.3.4:1", "h:+1", "h: 1",
    ])
    func `an address that is none is refused`(listen: String) {
        let proxies = "[{ \"name\": \"p\", \"listen\": \"\(listen)\", \"upstream\": \"h:80\" }]"
        #expect(problems("{ \"name\": \"x\", \"proxies\": \(proxies) }").count == 1)
    }

    @Test func `every mistake of a file is reported at once, in the order of their places`() {
        let text = """
            {
              "nam": "broken",
              "seed": -1,
              "faults": [
                { "kind": "latency", "delay": 250, "distribution": "gauss" },
                { "kind": "bandwidth", "rate": "20 Mbps" },
                { "kind": "cut", "at": "64 KiB", "every": "1 MiB" }
              ],
              "phases": [
                { "name": "gone", "for": "0 s", "faults": [ { "kind": "outage" } ] },
                { "name": "gone" }
              ]
            }
            """
        #expect(
            problems(text) == [
                "1:1: a profile needs the key “name” (add “\"name\": \"a-name\"”)",
                "2:3: a profile has no key “nam” (write “name”)",
                "3:11: “seed” can't be -1 (write a whole number from 0 to 18446744073709551615, without quotes)",
                "5:35: “250” has no unit (write “250 ms” or “250 s”)",
                "5:56: “gauss” is not a value of “distribution” (write “normal”)",
                "6:36: “20 Mbps” has the unknown unit “Mbps” (write “20 Mbit/s” or “20 MB/s”)",
                "7:38: a cut fault has exactly one of the keys “at”, “every”, “between”, “after”, “idle”, "
                    + "“pattern”, “limit”, “traffic” (delete “every”, and make a fault of its own of it)",
                "10:30: “for” is zero (write a duration above zero, such as “250 ms”)",
                "10:49: an outage fault needs the key “how” (add “\"how\": \"refuse\" or \"silence\" or \"reset\"”)",
                "11:15: the phase name “gone” is taken by another one (line 10) "
                    + "(give this phase a “name” that no other has)",
            ]
        )
    }
}
