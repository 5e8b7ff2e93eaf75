import Foundation
import Testing

/// `squall authority create`, and `--authority`.
@Suite(.timeLimit(.minutes(5))) struct AuthorityTests {
    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    /// Makes an authority for “upstream.test” in a folder.
    private func withAuthority(_ body: (_ path: String) async throws -> Void) async throws {
        try await withFolder { folder in
            let path = folder.appendingPathComponent("own.pem").path
            let made = try await squall("authority", "create", path, "--for", "upstream.test")
            #expect(made.status == 0, "\(made.errors)")
            #expect(made.lines.first?.hasPrefix("authority: \(path) ") == true)
            #expect(made.lines.last?.hasPrefix("trust: \(path).crt ") == true)
            try await body(path)
        }
    }

    @Test func `the key is its owner's, and no file is overwritten`() async throws {
        try await withAuthority { path in
            #expect(try mode(path) == 0o600)
            #expect(try String(contentsOfFile: path, encoding: .utf8).contains("PRIVATE KEY"))
            #expect(try !String(contentsOfFile: path + ".crt", encoding: .utf8).contains("PRIVATE KEY"))
            let before = try Data(contentsOf: URL(fileURLWithPath: path))
            let again = try await squall("authority", "create", path, "--for", "other.test")
            #expect(again.status == 2)
            #expect(again.errors.contains("“\(path)” exists"))
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
            try FileManager.default.removeItem(atPath: path)
            let half = try await squall("authority", "create", path, "--for", "other.test")
            #expect(half.status == 2)
            #expect(half.errors.contains("“\(path).crt” exists"))
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `clients that trust it once trust each run, for its names alone`() async throws {
        try await withAuthority { path in
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            try await withChild(Programs.squall, ["origin", folder]) { server in
                let upstream = try address(in: try await server.line(with: "ready: http://127.0.0.1:"))
                let arguments = ["run", "--latency", "1ms", "--upstream", upstream, "--listen", "tls::0"]
                for _ in 1...2 {
                    let options = arguments + ["--authority", path]
                    try await withChild(Programs.squall, options, environment: ["TMPDIR": folder]) { child in
                        let place = try address(in: try await child.line(with: "ready: tls:127.0.0.1:"))
                        #expect(try await child.line(with: "trust: ").contains("(the authority of “\(path)”; "))
                        for (host, status) in [("upstream.test", 0), ("api.upstream.test", 0), ("other.test", 60)] {
                            let client = ["--cacert", path + ".crt", "--connect-to", "\(host):443:\(place)"]
                            let outcome = try await run("curl", ["-sS", "https://\(host)/own.pem.crt"] + client)
                            #expect(outcome.status == status, "\(host): \(outcome.errors)")
                        }
                    }
                }
            }
        }
    }

    @Test func `a file that others may read, and one that isn't an authority, are refused`() async throws {
        try await withAuthority { path in
            let arguments = ["run", "--latency", "1ms", "--listen", "tls::0", "--upstream", ":1", "--authority"]
            func refusal(_ path: String) async throws -> String {
                let outcome = try await withChild(Programs.squall, arguments + [path]) { await $0.finish() }
                #expect(outcome.status == 2)
                return outcome.errors
            }
            #expect(try await refusal(path + ".crt").contains("is the certificate for clients: name “\(path)”"))
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
            #expect(try await refusal(path).contains("other users can read or change it: chmod 600"))
            let other = path + ".other"
            try FileManager.default.copyItem(atPath: path + ".crt", toPath: other)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: other)
            #expect(try await refusal(other).contains("there is no authority in it"))
        }
    }

    @Test func `nothing is left of an authority whose paths can't be told`() async throws {
        try await withFolder { folder in
            let script = #"exec "$0" authority create own.pem --for a.test >/dev/full"#
            let (sh, words) = (try Programs.find("sh"), ["-c", script, Programs.squall.path])
            let outcome = try await withChild(sh, words, folder: folder) { await $0.finish() }
            #expect(outcome.status == 1 && outcome.errors.contains("can't write to standard output"), "\(outcome)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        }
    }

    @Test func `nothing is left where the file for clients can't be written`() async throws {
        try await withFolder { folder in
            // No file may have a byte, as on a full disk.
            let script = """
                trap '' XFSZ
                ulimit -f 0
                exec "$0" run --latency 1ms --listen tls::0 --upstream :1
                """
            let (sh, words) = (try Programs.find("sh"), ["-c", script, Programs.squall.path])
            let outcome = try await withChild(sh, words, environment: ["TMPDIR": folder.path]) { await $0.finish() }
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("can't write the certificate of the authority"), "\(outcome.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        }
    }
}
