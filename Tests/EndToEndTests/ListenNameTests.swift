import Foundation
import Testing

/// `squall run` on a name that has several addresses.
@Suite(.timeLimit(.minutes(5))) struct ListenNameTests {
    /// A mount namespace in which the file of hosts gives a name two addresses.
    private static let script = """
        set -e
        squall=$1 folder=$2
        mount --bind "$folder/hosts" /etc/hosts
        $squall run "$folder/plain.json" --listen two.test:0 --upstream two.test:9 --seed 7 > "$folder/ready" &
        proxy=$!
        trap 'kill $proxy 2> /dev/null || true' EXIT
        until grep -q ready: "$folder/ready"; do sleep 0.02; done
        """

    @Test func `the ready line has the first address in its place, and the others at its end`() async throws {
        let namespace = ["--user", "--map-root-user", "--mount"]
        try #require(
            try await run("unshare", namespace + ["true"]).status == 0,
            "this test needs a mount namespace of its own: run it as root, or allow user namespaces"
        )
        try await withFolder { folder in
            let hosts = "127.0.0.1 localhost\n127.0.0.1 two.test\n127.0.0.2 two.test\n"
            try Data(hosts.utf8).write(to: folder.appendingPathComponent("hosts"))
            try Data(#"{ "name": "plain" }"#.utf8).write(to: folder.appendingPathComponent("plain.json"))
            let shell = namespace + ["timeout", "60", "sh", "-c", Self.script, "sh", Programs.squall.path, folder.path]
            let outcome = try await run("unshare", shell)
            #expect(outcome.status == 0, "\(outcome.errors)")
            let ready = try String(contentsOf: folder.appendingPathComponent("ready"), encoding: .utf8)
            let head = #"^ready: (127\.0\.0\.\d):(\d+) -> two\.test:9 "#
            let rest = #"\(proxy “proxy”, profile “plain”, seed 7, also listens on (.*)\)\n$"#
            let pattern = try Regex<(Substring, Substring, Substring, Substring)>(head + rest)
            let line = try #require(try pattern.wholeMatch(in: ready), "\(ready)")
            let other = line.1 == "127.0.0.1" ? "127.0.0.2" : "127.0.0.1"
            #expect(line.3 == "\(other):\(line.2)")
        }
    }
}
