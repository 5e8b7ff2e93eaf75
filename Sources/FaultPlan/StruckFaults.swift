import FaultProfile
import Synchronization

/// Which faults of a proxy have struck, of those that others come after: one flag for each, set once and never taken
/// back. Copies share the flags; no lock.
struct StruckFaults: Sendable {
    private final class Flag: Sendable {
        let isSet = Atomic<Bool>(false)
    }

    /// The flags of the faults that others come after, by the index of the fault; empty when there is none.
    private let flags: [Flag?]
    /// The flag that each fault waits for, by the index of the fault; empty when none waits.
    private let awaited: [Flag?]

    /// The record of `faults`, none of which has struck. Faults of one name share a flag; a name that no fault has is
    /// waited for in vain.
    init(_ faults: [Fault]) {
        var byName: [String: Flag] = [:]
        for fault in faults {
            if let name = fault.condition.after { byName[name] = byName[name] ?? Flag() }
        }
        flags = byName.isEmpty ? [] : faults.map { byName[$0.name] }
        awaited = byName.isEmpty ? [] : faults.map { $0.condition.after.flatMap { byName[$0] } }
    }

    /// The fault at an index has struck; returns whether that is new and somebody waits for it.
    func note(_ fault: Int) -> Bool {
        guard fault < flags.count, let flag = flags[fault] else { return false }
        return !flag.isSet.exchange(true, ordering: .acquiringAndReleasing)
    }

    /// Whether the fault that the one at an index comes after, if any, has struck.
    func allow(_ fault: Int) -> Bool {
        guard fault < awaited.count, let flag = awaited[fault] else { return true }
        return flag.isSet.load(ordering: .acquiring)
    }
}
