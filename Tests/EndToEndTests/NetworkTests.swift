import Foundation
import Testing

/// Proxies, and a network that becomes available late.
@Suite(.timeLimit(.minutes(5))) struct NetworkTests {
    @Test func `a file arrives through the proxy of the environment, and directly where that is excepted`() async throws
    {
        try await withOrigin(size: 100_000) { origin in
            try await withFolder { folder in
                // The origin acts as a proxy: it serves the path of an absolute target.
                let environment = ["http_proxy": "http://\(origin)"]
                let url = "http://files.example/file.bin"
                let done = try await squall("get", url, environment: environment, folder: folder)
                #expect(done.status == 0, "\(done.errors)")
                #expect(try Data(contentsOf: folder.appendingPathComponent("file.bin")) == bytes(100_000))
                let dead = ["http_proxy": "http://127.0.0.1:1", "no_proxy": "example"]
                let local = "http://\(origin)/file.bin"
                let direct = try await squall("get", local, "-o", "a.bin", environment: dead, folder: folder)
                #expect(direct.status == 0, "\(direct.errors)")
                let told = try await squall(
                    words: "get \(url) -o b.bin --proxy http://\(origin)",
                    environment: dead,
                    folder: folder
                )
                #expect(told.status == 0, "\(told.errors)")
            }
        }
    }

    @Test(arguments: [
        (["--proxy", "socks5://x:1"], [:], "--proxy"), (["--proxy", ""], [:], "http://HOST:PORT"),
        ([], ["http_proxy": "a b"], "--no-proxy"), (["--proxy", "x:1", "--no-proxy"], [:], "exclude"),
    ])
    func `an invalid proxy is exit 2`(options: [String], environment: [String: String], word: String) async throws {
        try await withFolder { folder in
            let arguments = ["get", "http://files.example/file.bin"] + options
            let outcome = try await squall(arguments, environment: environment, folder: folder)
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains(word), "\(outcome.errors)")
        }
    }

    /// A network namespace in which a client starts before there is an interface.
    private static let script = """
        set -e
        squall=$1 folder=$2
        ip link set lo up
        $squall origin "$folder/served" --host 0.0.0.0 --port 0 > "$folder/ready" &
        origin=$!
        trap 'kill $origin $client 2> /dev/null || true' EXIT
        until grep -q ready: "$folder/ready"; do sleep 0.02; done
        port=$(sed -n 's/.*ready:.*:\\([0-9]*\\).*/\\1/p' "$folder/ready" | head -n 1)
        $squall get "http://10.9.9.1:$port/file.bin" -o "$folder/file.bin" --wait-for-network --attempts 2 \\
            --events json > "$folder/events" &
        client=$!
        until grep -q waiting-for-network "$folder/events"; do sleep 0.02; done
        ip link add uplink type veth peer name far
        ip address add 10.9.9.1/24 dev uplink
        ip link set far up
        ip link set uplink up
        wait $client
        """

    @Test func `a network that isn't there is waited for, and the file arrives when it comes`() async throws {
        let namespace = ["--user", "--map-root-user", "--net"]
        try #require(
            try await run("unshare", namespace + ["true"]).status == 0,
            "this test needs a network namespace of its own: run it as root, or allow user namespaces"
        )
        _ = try Programs.find("ip")
        try await withFolder { folder in
            let served = folder.appendingPathComponent("served")
            try FileManager.default.createDirectory(at: served, withIntermediateDirectories: true)
            try bytes(50_000).write(to: served.appendingPathComponent("file.bin"))
            let shell = namespace + ["timeout", "60", "sh", "-c", Self.script, "sh", Programs.squall.path, folder.path]
            let outcome = try await run("unshare", shell)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(try Data(contentsOf: folder.appendingPathComponent("file.bin")) == bytes(50_000))
            let events = try String(contentsOf: folder.appendingPathComponent("events"), encoding: .utf8)
            #expect(!events.contains("\"retrying\""), "\(events)")
        }
    }
}
