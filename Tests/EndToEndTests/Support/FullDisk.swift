import Foundation

/// A file system of 1 MiB mounted for one program.
enum FullDisk {
    /// Whether it is available: a mount namespace needs root, or user namespaces.
    static func isPossible() async throws -> Bool {
        try await EndToEndTests.run("unshare", options + ["mount", "-t", "tmpfs", "none", "/tmp"]).status == 0
    }

    private static let options = ["--user", "--map-root-user", "--mount"]

    /// Runs `program` with the small file system mounted at `folder`.
    static func run(_ program: String, _ arguments: [String], on folder: URL) async throws -> Outcome {
        let script = "mount -t tmpfs -o size=1m none \"$1\" && shift && exec \"$@\""
        let shell = options + ["sh", "-c", script, "sh", folder.path, program]
        return try await withChild(Programs.find("unshare"), shell + arguments) { await $0.finish() }
    }
}
