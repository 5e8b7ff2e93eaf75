import Digests
import FaultPlan
import FaultProfile
import Units

extension JournalHeader {
    /// Makes the header of a profile whose files are named as in a journal.
    package init(version: String, profile: Profile, proxies: [ProxyEntry], time: String) {
        self.init(
            version: version,
            profile: profile,
            digest: ProfileDigest.text(of: profile),
            proxies: proxies,
            traces: profile.traceEntries,
            time: time
        )
    }
}

/// The digest of a profile's content; that of its traces is separate.
package enum ProfileDigest {
    /// The SHA-256 of its canonical text, in hexadecimal.
    package static func text(of profile: Profile) -> String {
        SHA256.hash(ProfileWriter.canonicalText(of: profile).utf8).hexadecimal
    }
}

/// The names of files in journals: shipped traces by their path in the profiles folder, which differs between machines,
/// other files and sockets by absolute path.
package enum JournalTraces {
    /// The absolute path without `.` components; a relative `path` starts from the folder `working`.
    package static func absolute(_ path: String, from working: String) -> String {
        let whole = path.hasPrefix("/") ? path : "\(working)/\(path)"
        return "/" + whole.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }

    /// The address of a server, with the path of a Unix socket absolute unless that is too long for a socket.
    package static func address(_ upstream: String, from working: String) -> String {
        guard UnixSocketName.isMeant(by: upstream), let name = try? UnixSocketName(parsing: upstream), !name.isAbstract
        else { return upstream }
        let whole = UnixSocketName.prefix + absolute(name.text, from: working)
        return (try? UnixSocketName(parsing: whole)) == nil ? upstream : whole
    }

    /// The SHA-256 of the parsed contents, so that later changes of the file don't matter.
    fileprivate static func digest(of trace: Trace) -> String {
        var text: [UInt8] = []
        for time in trace.opportunities { text += "\(time)\n".utf8 }
        return SHA256.hash(text).hexadecimal
    }
}

extension Profile {
    /// The entries of its traces in a journal's header, one per file.
    package var traceEntries: [JournalHeader.TraceEntry] {
        var known: Set<String> = []
        return allFaults.compactMap { fault in
            guard case .trace(let trace) = fault.kind, known.insert(trace.file).inserted else { return nil }
            return JournalHeader.TraceEntry(file: trace.file, digest: JournalTraces.digest(of: trace))
        }
    }

    package func withFiles(_ name: (String) -> String) -> Profile {
        mapFaults { fault in
            var fault = fault
            switch fault.kind {
            case .trace(var trace):
                trace.file = name(trace.file)
                fault.kind = .trace(trace)
            case .tls(.identity(var file)):
                file.file = name(file.file)
                fault.kind = .tls(.identity(file))
            default:
                break
            }
            return fault
        }
    }
}
