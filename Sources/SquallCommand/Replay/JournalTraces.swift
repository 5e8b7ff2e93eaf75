import Digests
import FaultPlan
import FaultProfile
import FoundationEssentials

/// Trace file names in journals: shipped files by their path in the profiles folder, which differs between machines,
/// and others by absolute path.
enum JournalTraces {
    /// The traces of a journal's profile, one entry per file.
    static func entries(of profile: Profile) -> [JournalHeader.TraceEntry] {
        var known: Set<String> = []
        return profile.traces.filter { known.insert($0.file).inserted }
            .map { JournalHeader.TraceEntry(file: $0.file, digest: digest(of: $0)) }
    }

    /// The name in a journal of the file at `path`.
    fileprivate static func written(_ path: String) -> String {
        let path = fromRoot(path)
        guard let folder = folder, path.hasPrefix(folder) else { return path }
        return String(path.dropFirst(folder.count))
    }

    /// The path of a file named `name` in a journal; `nil` without the folder of shipped profiles.
    static func opened(_ name: String) -> String? {
        name.hasPrefix("/") ? name : folder.map { $0 + name }
    }

    /// The folder of the shipped profiles, with a trailing slash.
    private static var folder: String? { ProfileLibrary.folder.map { fromRoot($0) + "/" } }

    /// The absolute path without `.` components.
    private static func fromRoot(_ path: String) -> String {
        let whole = path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
        return "/" + whole.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }

    /// The SHA-256 of the parsed contents, so that later changes of the file don't matter.
    private static func digest(of trace: Trace) -> String {
        var text: [UInt8] = []
        for time in trace.opportunities { text += "\(time)\n".utf8 }
        return SHA256.hash(text).hexadecimal
    }
}

extension Profile {
    /// The profile with trace files named as in a journal.
    var inJournal: Profile { withTraceFiles(JournalTraces.written) }

    /// The profile of a journal with trace files named as paths.
    var outOfJournal: Profile { withTraceFiles { JournalTraces.opened($0) ?? $0 } }

    fileprivate var traces: [Trace] {
        allFaults.compactMap { fault in
            if case .trace(let trace) = fault.kind { trace } else { nil }
        }
    }

    private func withTraceFiles(_ path: (String) -> String) -> Profile {
        mapFaults { fault in
            guard case .trace(var trace) = fault.kind else { return fault }
            trace.file = path(trace.file)
            var fault = fault
            fault.kind = .trace(trace)
            return fault
        }
    }
}
