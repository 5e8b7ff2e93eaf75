import FoundationEssentials

/// Warnings about a command that is to run behind a supervisor.
enum CommandNotices {
    /// The lines about a command that is found by execvp(3), and runs in an environment.
    static func lines(about command: String, _ environment: [String: String]) -> [String] {
        var lines: [String] = []
        let names = ["http_proxy", "https_proxy", "all_proxy"]
        let proxy = environment.keys.sorted().first {
            names.contains($0.lowercased()) && environment[$0] != ""
        }
        if let proxy {
            lines.append(
                "\(proxy) is set: a command that follows it connects to that proxy, whose address faults see as the target"
            )
        }
        if isPrivileged(command, environment["PATH"] ?? "") {
            lines.append("“\(command)” is a set-uid or set-gid program, which runs without its privileges here")
        }
        return lines
    }

    private static func isPrivileged(_ command: String, _ path: String) -> Bool {
        let places =
            command.contains("/")
            ? [command] : path.split(separator: ":", omittingEmptySubsequences: false).map { "\($0)/\(command)" }
        guard let place = places.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            return false
        }
        let file = URL(filePath: place).resolvingSymlinksInPath().path
        // An unsigned integer or a signed one, as Foundation is linked in part or whole.
        let mode = (try? FileManager.default.attributesOfItem(atPath: file))?[.posixPermissions]
        return (mode as? UInt ?? UInt(mode as? Int ?? 0)) & 0o6000 != 0
    }
}
