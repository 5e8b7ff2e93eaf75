import Glibc
import Units

/// The processes below this one, which has adopted the orphans among them.
enum Descendants {
    /// How long killed processes are waited for, which the system may not let end: 10 s.
    static let killPatience = Duration.seconds(10)

    /// Kills in passes until one finds no process, because each may leave orphans; for `killPatience` at most.
    static func killAll(_ pass: () -> Bool = { killChildren() }) {
        let deadline = MonotonicClock.now + killPatience
        while pass(), MonotonicClock.now < deadline { _ = poll(nil, 0, 2) }
    }

    /// Kills the children of this process but for `spared`, and takes note of those that have ended; returns whether there
    /// were any.
    static func killChildren(sparing spared: Set<pid_t> = []) -> Bool {
        let found = children().subtracting(spared)
        for child in found {
            _ = kill(child, SIGKILL)
            var status: Int32 = 0
            _ = waitpid(child, &status, WNOHANG)
        }
        return !found.isEmpty
    }

    /// The children of this process, by proc_pid_stat(5); those that have ended are among them until they are waited for.
    static func children() -> Set<pid_t> {
        let own = getpid()
        return Set((NumericNames.of("/proc") ?? []).filter { parent(of: $0) == own })
    }

    private static func parent(of process: pid_t) -> pid_t? {
        guard let file = fopen("/proc/\(process)/stat", "re") else { return nil }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 512)
        guard fgets(&buffer, Int32(buffer.count), file) != nil else { return nil }
        // The name in parentheses may have spaces and parentheses itself.
        let text = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        return fields.count > 1 ? pid_t(fields[1]) : nil
    }
}
