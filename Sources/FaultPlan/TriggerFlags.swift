import FaultProfile
import Synchronization

/// Which faults of a proxy have acted, of those that others come after: one flag for each, set once and never taken
/// back. Copies share the flags; no lock.
struct TriggerFlags: Sendable {
    final class Flag: Sendable {
        private let isSet = Atomic<Bool>(false)
        /// Whether `note` was called, since a link sets the flag before its events are taken.
        private let isNoted = Atomic<Bool>(false)

        var hasActed: Bool { isSet.load(ordering: .acquiring) }

        /// Sets the flag. Calling it twice is fine.
        func set() { isSet.store(true, ordering: .releasing) }

        /// Sets the flag; returns whether this is the first call.
        func note() -> Bool {
            set()
            return !isNoted.exchange(true, ordering: .acquiringAndReleasing)
        }
    }

    /// The flags of the faults that others come after, by the index of the fault; empty when there is none.
    private let flags: [Flag?]
    /// The flag that each fault waits for, by the index of the fault; empty when none waits.
    private let awaited: [Flag?]

    /// The flags of `faults`. A flag of the `last` plan is kept; the others are clear. Faults of one name share a flag; the
    /// flag of a name that no fault has is never set.
    init(_ faults: [Fault], _ identities: FaultIdentities, after last: Plan?) {
        var byName: [String: Flag] = [:]
        for fault in faults {
            guard let name = fault.condition.after, byName[name] == nil else { continue }
            let places = faults.indices.filter { faults[$0].name == name }
            let flag = places.lazy.compactMap { last?.flag(of: identities[$0]) }.first
            byName[name] = flag ?? Flag()
        }
        flags = byName.isEmpty ? [] : faults.map { byName[$0.name] }
        awaited = byName.isEmpty ? [] : faults.map { $0.condition.after.flatMap { byName[$0] } }
    }

    /// Whether no fault comes after another.
    var isEmpty: Bool { flags.isEmpty }

    /// The flag of the fault at an index, if others come after it.
    func flag(_ fault: Int) -> Flag? { fault < flags.count ? flags[fault] : nil }

    /// The fault at an index has acted; returns whether that is new and somebody waits for it.
    func note(_ fault: Int) -> Bool {
        guard fault < flags.count, let flag = flags[fault] else { return false }
        return flag.note()
    }

    /// Whether the fault that the one at an index comes after, if any, has acted.
    func allow(_ fault: Int) -> Bool {
        guard fault < awaited.count, let flag = awaited[fault] else { return true }
        return flag.hasActed
    }
}
