import Crypto
import FaultPlan
import FaultProfile
import Foundation

/// How a journal names the files of traces: one of the shipped profiles by its path in their folder, which may be
/// another on another machine, and any other by its path from the root, so that it is found from any folder.
enum JournalTraces {
    /// The traces of a profile as it stands in a journal, a file each.
    static func entries(of profile: Profile) -> [JournalHeader.TraceEntry] {
        var known: Set<String> = []
        return profile.traces.filter { known.insert($0.file).inserted }
            .map { JournalHeader.TraceEntry(file: $0.file, digest: digest(of: $0)) }
    }

    /// The path that a journal has for the file at `path`.
    fileprivate static func written(_ path: String) -> String {
        let path = fromRoot(path)
        guard let folder = folder, path.hasPrefix(folder) else { return path }
        return String(path.dropFirst(folder.count))
    }

    /// The path of the file that a journal calls `name`; `nil` when the folder of the shipped profiles isn't there.
    static func opened(_ name: String) -> String? {
        name.hasPrefix("/") ? name : folder.map { $0 + name }
    }

    /// The folder of the shipped profiles, with a slash at its end.
    private static var folder: String? { ProfileLibrary.folder.map { fromRoot($0) + "/" } }

    /// The path from the root, without parts that say nothing: the same however a profile was called.
    private static func fromRoot(_ path: String) -> String {
        let whole = path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
        return "/" + whole.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }

    /// The SHA-256 of what was read of the file, so that it makes no difference when it was changed meanwhile.
    private static func digest(of trace: Trace) -> String {
        var text: [UInt8] = []
        for time in trace.opportunities { text += "\(time)\n".utf8 }
        return SHA256.hash(data: text).hexadecimal
    }
}

extension Profile {
    /// The profile with the files of its traces as a journal names them.
    var inJournal: Profile { withTraceFiles(JournalTraces.written) }

    /// The profile of a journal with the files of its traces as they can be opened.
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
