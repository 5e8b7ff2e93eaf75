import Foundation
import Glibc
import TestUploadServers
import Testing

/// The credentials of `squall get` and `squall put`: their sources, and where they never appear.
@Suite(.timeLimit(.minutes(5))) struct CredentialCommandTests {
    /// Base64 of ada:hunter2.
    private static let basic = "Basic YWRhOmh1bnRlcjI="
    private static let files = [
        "password": "hunter2\r\nnot this\n", "fields": "Authorization: Bearer hunter2\r\n\nX-Key: hunter2\n",
        ".netrc": "machine 127.0.0.1\n  login ada password hunter2\n",
        "bad.netrc": "machine a\nlogin hunter2 hunter3\n",
        "bad-fields": "X: y\nhunter2\n",
    ]

    /// Runs `squall get` for a server in a folder with secret files that only their owner can read.
    private func get(
        _ options: [String],
        from server: RecordingServer,
        environment: [String: String] = [:],
        mode: Int = 0o600
    ) async throws -> Outcome {
        try await withFolder { folder in
            for (name, text) in CredentialCommandTests.files {
                let path = folder.appendingPathComponent(name).path
                try Data(text.utf8).write(to: URL(fileURLWithPath: path))
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            }
            let arguments = ["get", "http://127.0.0.1:\(server.port)/x", "--attempts", "1"] + options
            let variables = environment.merging(["HOME": folder.path]) { $1 }
            return try await squall(arguments, environment: variables, folder: folder)
        }
    }

    @Test(arguments: [
        (["--user", "ada:hunter2"], [:]), (["-u", "ada:hunter2"], [:]),
        (["--user", "ada", "--password-file", "password"], [:]),
        (["--user", "ada"], ["SQUALL_PASSWORD": "hunter2"]), (["--netrc"], [:]), (["-n"], [:]),
        (["--netrc-file", ".netrc"], [:]), (["--header", "Authorization: \(basic)"], [:]),
    ])
    func `a name and a password come from the command line, a file, the environment or a netrc`(
        options: [String],
        environment: [String: String]
    ) async throws {
        try await RecordingServer.with { server in
            for format in ["text", "json"] {
                let outcome = try await get(options + ["--events", format], from: server, environment: environment)
                #expect(outcome.status == 0)
                #expect(outcome.errors.isEmpty, "\(outcome.errors)")
                #expect(!outcome.output.contains("hunter") && !outcome.output.contains("YWRh"))
            }
            #expect(server.authorizations == [Self.basic, Self.basic])
        }
    }

    @Test func `fields are read from the command line and a file, and without any none is sent`() async throws {
        try await RecordingServer.with { server in
            #expect(try await get(["-H", "@fields", "-H", "X-Other: é"], from: server).status == 0)
            #expect(server.authorizations == ["Bearer hunter2"])
            let head = try #require(server.heads.first)
            #expect(head.contains("\r\nX-Key: hunter2\r\n") && head.contains("\r\nX-Other: é\r\n"), "\(head)")
            #expect(try await get([], from: server).status == 0)
            #expect(server.authorizations.count == 1)
        }
    }

    @Test(arguments: [
        (["--header", "hunter2"], "--header 1: there is no colon"),
        (["--header", "X: y", "--header", "Host: hunter2"], "--header 2: the field host is the URL's"),
        (["--header", "Range: hunter2"], "the client sets the field range itself"),
        (["--header", "X: hunter2\u{1}"], "has a control character"),
        (["--header", "@bad-fields"], "bad-fields:2: there is no"),
        (["--header", "@none"], "can't read “none” (--header): No such file"),
        (["--header", "@/dev/zero"], "it is a device"),
        (["--netrc-file", "bad.netrc"], "bad.netrc:2: there is a word that isn't"),
        (["--netrc-file", "none"], "can't read"),
        (["--user", "ada:hunter2", "--netrc"], "give one of them"),
        (["--netrc", "--netrc-file", "x"], "give one of them"),
        (["--user", "ada:hunter2", "--header", "Authorization: Bearer hunter3"], "give one of them"),
        (["--user", "ada:hunter2", "--password-file", "password"], "has a password already"),
        (["--password-file", "password"], "is for the password of --user"),
        (["--user", "ada:hun\tter2"], "control character"),
        (["--user", "ada"], "there is no terminal to ask on: give --password-file or SQUALL_PASSWORD"),
    ])
    func `a field that can't be sent is exit 2, and its value isn't shown`(options: [String], words: String)
        async throws
    {
        try await RecordingServer.with { server in
            let outcome = try await get(options, from: server)
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains(words), "\(outcome.errors)")
            #expect(!outcome.errors.contains("hunter") && !outcome.errors.contains("hun\\u"), "\(outcome.errors)")
            #expect(server.heads.isEmpty)
        }
    }

    @Test func `a file of secrets that others can read is used, with a warning`() async throws {
        try await RecordingServer.with { server in
            for options in [["--netrc"], ["--user", "ada", "--password-file", "password"]] {
                let outcome = try await get(options, from: server, mode: 0o644)
                #expect(outcome.status == 0)
                #expect(outcome.errorLines.count == 1)
                #expect(outcome.errors.contains("chmod 600 keeps them out"))
            }
            #expect(server.authorizations == [Self.basic, Self.basic])
        }
    }

    @Test(arguments: ["text", "json"])
    func `a server that refuses is exit 1 with its realm`(format: String) async throws {
        let field = "WWW-Authenticate: Basic realm=\"the \u{9B}31m\u{202E}files\""
        try await RecordingServer.with(401, [field]) { server in
            let outcome = try await get(["--user", "ada:hunter2", "--events", format], from: server)
            #expect(outcome.status == 1)
            #expect(
                outcome.errors.contains("401: it refuses the credentials that it was sent for “the "),
                "\(outcome.errors)"
            )
            #expect(outcome.output.contains("failed") == (format == "json"))
            let shown = outcome.output + outcome.errors
            for secret in ["hunter", "YWRh", "\u{9B}", "\u{202E}"] { #expect(!shown.contains(secret)) }
            #expect(server.heads.count == 1)
        }
    }

    @Test(arguments: ["text", "json"])
    func `an upload sends them as a download does`(format: String) async throws {
        var habits = UploadServerHabits()
        habits.refuse = { _, fields in fields[.authorization] == Self.basic ? nil : 401 }
        try await withUploadServer(.dialect(.v10), habits) { server in
            try await withFolder { folder in
                try bytes(100_000).write(to: folder.appendingPathComponent("file.bin"))
                for (options, status) in [(["--user", "ada:hunter3"], Int32(1)), (["--user", "ada:hunter2"], 0)] {
                    let arguments = ["put", "file.bin", server.url, "--state", "state", "--events", format] + options
                    let outcome = try await squall(arguments, folder: folder)
                    #expect(outcome.status == status, "\(outcome.errors)")
                    #expect(
                        outcome.errors.contains("refuses the credentials that it was sent for “files”") == (status == 1)
                    )
                    let shown = outcome.output + outcome.errors
                    for secret in ["hunter", "YWRh"] { #expect(!shown.contains(secret)) }
                }
                #expect(server.delivered.map { Data($0) } == [bytes(100_000)])
            }
        }
    }

    @Test(arguments: [
        ("Upload-Offset: hunter2", "the client sets the field upload-offset itself"),
        ("Content-Type: hunter2", "use --content-type"),
    ])
    func `a field that an upload needs for itself is exit 2`(field: String, words: String) async throws {
        try await withFolder { folder in
            try bytes(10).write(to: folder.appendingPathComponent("file.bin"))
            let outcome = try await squall("put", "file.bin", "http://127.0.0.1:1/x", "--header", field, folder: folder)
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains(words), "\(outcome.errors)")
            #expect(!outcome.errors.contains("hunter"))
        }
    }

    @Test func `a password is asked for on the terminal, and isn't shown there`() async throws {
        try await RecordingServer.with { server in
            try await withFolder { folder in
                let terminal = try PseudoTerminal()
                // setsid(1) makes the terminal on standard input the controlling one.
                let script = "exec setsid --ctty --wait \"$0\" \"$@\" <'\(terminal.path)'"
                let url = "http://127.0.0.1:\(server.port)/x"
                let arguments = ["-c", script, Programs.squall.path, "get", url, "--user", "ada"]
                try await withChild(Programs.find("sh"), arguments, folder: folder) { child in
                    #expect(await terminal.shown.text(upTo: "Password of “ada”: ") != nil)
                    terminal.type("hunter2\n")
                    let outcome = await child.finish()
                    #expect(outcome.status == 0)
                    #expect(outcome.errors.isEmpty, "\(outcome.errors)")
                }
                #expect(server.authorizations == [Self.basic])
                terminal.hangUp()
                #expect(await !terminal.shown.text().contains("hunter2"))
            }
        }
    }
}
