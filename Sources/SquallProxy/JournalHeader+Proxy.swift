internal import Digests
internal import FaultPlan
internal import FaultProfile
internal import Foundation
internal import ProxyEngine
internal import ShippedProfiles

extension JournalHeader {
    /// The version in journals: that of the package.
    static let version = "0.1.0"

    /// The header of the journal of a proxy whose clock starts with it, at `time`.
    init(of configuration: ProxyConfiguration, time: String) {
        let profile = configuration.profile.inJournal
        var known: Set<String> = []
        self.init(
            version: JournalHeader.version,
            profile: profile,
            digest: ProfileDigest.text(of: profile),
            proxies: [
                ProxyEntry(
                    name: configuration.name,
                    seed: configuration.seed,
                    upstream: "\(configuration.destination)"
                )
            ],
            traces: profile.traces.filter { known.insert($0.file).inserted }.map { trace in
                let times = trace.opportunities.map { "\($0)\n" }.joined()
                return TraceEntry(file: trace.file, digest: ProfileDigest.text(of: times))
            },
            time: time
        )
    }
}

/// The digests of a journal.
enum ProfileDigest {
    /// The SHA-256 of the canonical text of a profile, in hexadecimal.
    static func text(of profile: Profile) -> String { text(of: ProfileWriter.canonicalText(of: profile)) }

    /// The SHA-256 of a text, in hexadecimal.
    static func text(of text: String) -> String {
        SHA256.hash(text.utf8).hexadecimal
    }
}

extension Profile {
    /// The profile with its trace files named as in a journal: shipped ones by their path in the folder of profiles, others
    /// by their absolute path.
    var inJournal: Profile {
        mapFaults { fault in
            guard case .trace(var trace) = fault.kind else { return fault }
            if trace.file.hasPrefix(ShippedProfiles.folder) {
                trace.file.removeFirst(ShippedProfiles.folder.count)
            } else if !trace.file.hasPrefix("/") {
                trace.file = "\(FileManager.default.currentDirectoryPath)/\(trace.file)"
            }
            var fault = fault
            fault.kind = .trace(trace)
            return fault
        }
    }

    fileprivate var traces: [Trace] {
        allFaults.compactMap { if case .trace(let trace) = $0.kind { trace } else { nil } }
    }
}
