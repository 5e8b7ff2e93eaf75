import Foundation
import Glibc
import Testing

/// TLS of `squall origin`, `squall get` and `squall put`.
@Suite(.timeLimit(.minutes(5))) struct TLSCommandTests {
    /// Runs `squall origin --tls-self-signed` in a folder with `file.bin`; `body` gets the folder, the address, and the
    /// authority's file.
    private func withSecureOrigin<Result>(_ body: (URL, String, String) async throws -> Result) async throws -> Result {
        try await withOrigin(size: 1_000_000, isSecure: true, takesUploads: true) { origin in
            try await body(origin.folder, origin.address, origin.authority)
        }
    }

    @Test func `files go both ways, also through cuts, and curl trusts the authority`() async throws {
        try await withSecureOrigin { folder, place, authority in
            let cuts = #"{"name": "cuts", "faults": [{"kind": "cut", "every": "300 KiB", "how": "reset"}]}"#
            try await withProxy(cuts, to: place) { _, proxy in
                let get = try await squall(
                    words: "get https://\(proxy)/file.bin --ca-file \(authority) --output copy.bin",
                    folder: folder
                )
                #expect(get.status == 0, "\(get.errors)")
                #expect(try Data(contentsOf: folder.appendingPathComponent("copy.bin")) == bytes(1_000_000))
                let put = try await squall(
                    words: "put file.bin https://\(proxy)/new.bin --ca-file \(authority) --state state",
                    folder: folder
                )
                #expect(put.status == 0, "\(put.errors)")
                #expect(put.output.contains("as the server says"))
                #expect(try Data(contentsOf: folder.appendingPathComponent("new.bin")) == bytes(1_000_000))
            }
            let url = "https://\(place)/file.bin"
            let curl = try await run("curl", ["-s", "-S", "--cacert", authority, "-o", folder.path + "/c.bin", url])
            #expect(curl.status == 0, "\(curl.errors)")
            #expect(try Data(contentsOf: folder.appendingPathComponent("c.bin")) == bytes(1_000_000))
        }
    }

    @Test func `an untrusted server is exit 1 with advice, and leaves no file`() async throws {
        try await withSecureOrigin { folder, place, _ in
            for command in [
                ["get", "https://\(place)/file.bin", "-o", "x.bin"], ["put", "file.bin", "https://\(place)/x"],
            ] {
                let arguments = command + (command[0] == "put" ? ["--state", "state"] : [])
                let outcome = try await squall(arguments, folder: folder)
                #expect(outcome.status == 1)
                #expect(outcome.errorLines.count == 1)
                #expect(outcome.errors.contains("by TLS: the server's certificate isn't signed"), "\(outcome.errors)")
                #expect(outcome.errors.contains("--ca-file"))
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(!names.contains { $0.contains("x.bin") })
        }
    }

    @Test func `a server without TLS is exit 75 and says so`() async throws {
        try await withOrigin(size: 10) { place in
            try await withFolder { folder in
                let outcome = try await squall("get", "https://\(place)/file.bin", "--attempts", "1", folder: folder)
                #expect(outcome.status == 75)
                #expect(outcome.errors.contains("what came isn't TLS"), "\(outcome.errors)")
            }
        }
    }

    @Test(arguments: [
        (["get", "https://127.0.0.1/x", "--ca-file", "text"], "“text” (--ca-file): there are no certificates"),
        (["get", "https://127.0.0.1/x", "--ca-file", "none"], "can't read “none” (--ca-file)"),
        (["get", "https://127.0.0.1/x", "--client-cert", "text"], "--client-cert and --client-key are given together"),
        (["put", "text", "https://127.0.0.1/x", "--client-key", "text"], "are given together"),
        (
            ["get", "https://127.0.0.1/x", "--client-cert", "text", "--client-key", "text"],
            "(--client-cert): there is no"
        ),
        (["origin", ".", "--tls-cert", "text"], "--tls-cert and --tls-key are given together"),
        (["origin", ".", "--tls-cert", "text", "--tls-key", "text"], "(--tls-cert): there is no certificate"),
        (["origin", ".", "--tls-cert", "text", "--tls-key", "text", "--tls-self-signed"], "makes a certificate"),
    ])
    func `an unusable certificate or key is exit 2, and is named`(arguments: [String], words: String) async throws {
        try await withFolder { folder in
            try Data("secret\n".utf8).write(to: folder.appendingPathComponent("text"))
            let mode: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
            try FileManager.default.setAttributes(mode, ofItemAtPath: folder.appendingPathComponent("text").path)
            let outcome = try await squall(arguments, folder: folder)
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains(words), "\(outcome.errors)")
            #expect(!outcome.errors.contains("secret"))
        }
    }
}
