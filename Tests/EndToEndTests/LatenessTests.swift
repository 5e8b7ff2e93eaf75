import Foundation
import Glibc
import Testing

/// `squall run` reports when the machine was too busy for the profile's timing.
@Suite(.timeLimit(.minutes(5))) struct LatenessTests {
    private static let profile = """
        { "name": "rated", "faults": [ { "kind": "bandwidth", "stream": "downstream", "rate": "1 MB/s" } ] }
        """

    @Test func `a proxy that is stopped for a while makes up for it, and tells how late it was`() async throws {
        try await withFolder { folder in
            let path = folder.appendingPathComponent("rated.json")
            try Data(LatenessTests.profile.utf8).write(to: path)
            // Half a minute at this rate, as little as the machine permits.
            try await withOrigin(size: 30_000_000) { origin in
                let arguments = ["run", path.path, "--listen", "127.0.0.1:0", "--upstream", origin, "--journal", "-"]
                try await withChild(Programs.squall, arguments) { proxy in
                    let address = try address(in: try await proxy.errorLine(with: "ready"))
                    async let download = run("curl", ["-s", "-o", "/dev/null", "http://\(address)/file.bin"])
                    _ = try await proxy.line(with: "limits")
                    // The rate limit is in effect by then.
                    _ = try await run("sleep", ["0.3"])
                    proxy.signal(SIGSTOP)
                    _ = try await run("sleep", ["0.4"])
                    proxy.signal(SIGCONT)
                    _ = try await proxy.errorLine(with: "too busy")
                    proxy.signal(SIGINT)
                    let outcome = await proxy.finish()
                    _ = try await download
                    #expect(outcome.status == 0)
                    let told = outcome.errorLines.filter { $0.contains("too busy to keep the times of the profile") }
                    let summary = try #require(told.last)
                    #expect(summary.hasPrefix("squall: the proxy “proxy”: the machine was too busy"), "\(summary)")
                    #expect(summary.hasSuffix("rates made up for all of it"), "\(summary)")
                    #expect(told.count >= 2, "a warning as it happens, and a summary: \(told)")
                }
            }
        }
    }
}
