import Foundation
import Glibc
import TestStreams
import Testing

/// The programs used in tests.
enum Programs {
    /// The built command, next to the test bundle.
    static let squall = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("squall")

    /// A program of the system.
    static func find(_ name: String) throws -> URL {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = path.split(separator: ":").map { String($0) } + ["/usr/sbin"]
        let found = folders.map { URL(fileURLWithPath: "\($0)/\(name)") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
        return try #require(found, "\(name) is missing: `make test` installs it, or install Debian's package")
    }
}

/// Runs `squall` to its end.
func squall(
    _ arguments: String...,
    environment: [String: String] = [:],
    folder: URL? = nil
) async throws -> Outcome {
    try await squall(arguments, environment: environment, folder: folder)
}

/// Runs `squall` to its end.
func squall(
    _ arguments: [String],
    environment: [String: String] = [:],
    folder: URL? = nil
) async throws -> Outcome {
    try await withChild(Programs.squall, arguments, environment: environment, folder: folder) { await $0.finish() }
}

/// Runs `squall` with the words of a command line to its end.
func squall(
    words line: Words,
    environment: [String: String] = [:],
    folder: URL? = nil
) async throws -> Outcome {
    try await squall(line.words, environment: environment, folder: folder)
}

/// The words of a command line, which spaces and ends of lines separate; an interpolated value is never split.
struct Words: ExpressibleByStringInterpolation {
    let words: [String]

    init(stringLiteral literal: String) {
        var interpolation = StringInterpolation(literalCapacity: literal.utf8.count, interpolationCount: 0)
        interpolation.appendLiteral(literal)
        self.init(stringInterpolation: interpolation)
    }

    init(stringInterpolation: StringInterpolation) { words = stringInterpolation.words }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var words = [""]

        init(literalCapacity: Int, interpolationCount: Int) {}

        mutating func appendLiteral(_ literal: String) {
            let parts = literal.split(omittingEmptySubsequences: false) { $0 == " " || $0 == "\n" }
            words[words.count - 1] += parts[0]
            words += parts.dropFirst().map(String.init)
        }

        mutating func appendInterpolation(_ value: some CustomStringConvertible) {
            words[words.count - 1] += value.description
        }
    }
}

/// Runs a program of the system to its end.
func run(_ name: String, _ arguments: [String]) async throws -> Outcome {
    try await withChild(Programs.find(name), arguments) { await $0.finish() }
}

/// A key and a certificate for `name` that it signs itself, in files of `folder`.
func ownCertificate(for name: String, in folder: URL) async throws -> (key: String, certificate: String) {
    let (key, certificate) = (folder.path + "/own.key", folder.path + "/own.pem")
    let made = try await run(
        "openssl",
        [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-keyout",
            key,
            "-out", certificate, "-subj", "/CN=own", "-addext", "subjectAltName=DNS:\(name)",
        ]
    )
    #expect(made.status == 0, "\(made.errors)")
    return (key, certificate)
}

/// Runs `squall run` with `profile` (a name, a path, or JSON) during `body`, which gets the child and its listen
/// address.
func withProxy<Result>(
    _ profile: String,
    to upstream: String,
    _ options: [String] = [],
    isHeard: Bool = true,
    _ body: (Child, String) async throws -> Result
) async throws -> Result {
    try await withFolder { folder in
        var reference = profile
        if profile.hasPrefix("{") {
            reference = folder.appendingPathComponent("profile.json").path
            try Data(profile.utf8).write(to: URL(fileURLWithPath: reference))
        }
        let arguments = ["run", reference, "--listen", "127.0.0.1:0", "--upstream", upstream] + options
        // With the journal on standard output the ready line is on standard error.
        let isPiped = options.contains("-")
        return try await withChild(Programs.squall, arguments, isHeard: isHeard) { child in
            let line = isPiped ? try await child.errorLine(with: "ready: ") : try await child.line(with: "ready: ")
            return try await body(child, address(in: line))
        }
    }
}

/// A run of `squall origin` over a folder with `file.bin`.
struct Origin {
    let folder: URL
    /// "127.0.0.1:41234".
    let address: String
    /// The file of the authority that signed its certificate; empty without TLS.
    let authority: String

    var port: String { String(address.split(separator: ":").last ?? "") }
    var url: String { "\(authority.isEmpty ? "http" : "https")://\(address)" }
}

/// Runs `squall origin` over a temporary folder with `file.bin` of `size` bytes during `body`. With TLS it makes a certificate
/// of its own, which ends with it.
func withOrigin<Result>(
    size: Int,
    isSecure: Bool,
    takesUploads: Bool = false,
    _ body: (Origin) async throws -> Result
) async throws -> Result {
    try await withFolder { folder in
        try bytes(size).write(to: folder.appendingPathComponent("file.bin"))
        let options = (takesUploads ? ["--uploads", folder.path] : []) + (isSecure ? ["--tls-self-signed"] : [])
        let environment = ["TMPDIR": folder.path]
        return try await withChild(Programs.squall, ["origin", folder.path] + options, environment: environment) {
            child in
            let authority = try await isSecure ? child.authority() : ""
            let address = try await address(in: child.line(with: isSecure ? "ready: https://" : "ready: "))
            let result = try await body(Origin(folder: folder, address: address, authority: authority))
            if isSecure {
                child.signal(SIGTERM)
                #expect(await child.finish().status == 0)
                #expect(!FileManager.default.fileExists(atPath: authority), "the authority ends with the server")
            }
            return result
        }
    }
}

extension Child {
    /// The file of an authority, from the next line that tells it.
    func authority() async throws -> String {
        let line = try await line(with: "trust: ")
        return String(try #require(line.split(separator: " ").dropFirst().first, "no file in “\(line)”"))
    }
}

/// Like `withOrigin`, without TLS; `body` gets the server's address.
func withOrigin<Result>(size: Int, _ body: (String) async throws -> Result) async throws -> Result {
    try await withOrigin(size: size, isSecure: false) { try await body($0.address) }
}

/// Like `withOrigin`, with uploads into the served folder, which `body` gets too.
func withUploadingOrigin<Result>(size: Int, _ body: (URL, String) async throws -> Result) async throws -> Result {
    try await withOrigin(size: size, isSecure: false, takesUploads: true) { try await body($0.folder, $0.address) }
}

/// The file served by `withOrigin`.
func bytes(_ count: Int) -> Data { Data(testBytes(count)) }

/// A folder that is removed after `body`.
func withFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("squall-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder)
}

/// "127.0.0.1:41234" from a ready line.
func address(in line: String) throws -> String {
    String(try #require(line.firstMatch(of: /127\.0\.0\.1:[0-9]+/), "no address in “\(line)”").output)
}
