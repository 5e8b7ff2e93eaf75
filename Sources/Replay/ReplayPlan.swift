import FaultPlan
import FaultProfile
import Units

/// Strikes the faults of a journal again: those decided by a position as faults of their own, each on its connection at
/// its byte; those decided by time as they are in the profile.
public struct ReplayPlan: Sendable {
    /// What can be kept or left out.
    public enum Unit: Hashable, Sendable {
        /// A line of a fault that a position decides: a cut, a stall, a truncation, a corruption, or one direction's end.
        case event(RecordedFaultEvent)
        /// A fault of the profile, by its name, on all connections and at all times that it acts on.
        case fault(String)
    }

    /// The fault events of a journal that are looked at: 65,536.
    public static let eventLimit = 65_536

    /// The profile that the journal was made with, with the seed of that run.
    public let profile: Profile
    /// What the journal tells, without repetition, in its order.
    public let units: [Unit]

    /// The profile's faults by their names.
    private let faults: [String: OriginalFault]
    private let seed: UInt64

    /// The plan of the fault events of one proxy, which drew with `seed`. What `profile` has no fault of isn't replayed.
    public init(profile: Profile, seed: UInt64, events: [RecordedFaultEvent]) {
        var profile = profile
        profile.seed = seed
        self.profile = profile
        self.seed = seed
        let faults = Dictionary(OriginalFault.all(of: profile).map { ($0.fault.name, $0) }) { first, _ in first }
        var known: Set<Unit> = []
        var units: [Unit] = []
        for event in events.prefix(ReplayPlan.eventLimit) {
            // That a stream isn't HTTP is told by a fault, and isn't one.
            guard let fault = faults[event.fault], event.what != FaultEvent.Effect.unreadWord else { continue }
            let isExplicit = fault.kind(of: event, seed: seed) != nil
            let unit = isExplicit ? Unit.event(event) : .fault(event.fault)
            if known.insert(unit).inserted { units.append(unit) }
        }
        self.units = units
        self.faults = faults
    }

    /// The profile that does everything that the journal tells, and what goes by time besides.
    ///
    /// Two faults may have one name in it, that of the fault they come from, so that its journal reads as the first.
    public var everything: Profile {
        let events = explicitFaults(of: units)
        var result = profile
        result.faults = profile.faults.filter { !$0.kind.isReplayedByPosition } + events
        result.phases = profile.phases.map { phase in
            var phase = phase
            phase.faults.removeAll { $0.kind.isReplayedByPosition }
            return phase
        }
        return result.withoutVainWaits
    }

    /// The profile that does only what `kept` says. Phases stay as long as one of them has a fault.
    ///
    /// With `isNamedApart` every fault has a name of its own, so that the profile can be written and read again.
    public func profile(keeping kept: [Unit], isNamedApart: Bool = false) -> Profile {
        let names = Set(
            kept.compactMap { unit -> String? in
                if case .fault(let name) = unit { name } else { nil }
            }
        )
        var result = profile
        result.faults = profile.faults.filter { names.contains($0.name) }
        result.phases = profile.phases.map { phase in
            var phase = phase
            phase.faults.removeAll { !names.contains($0.name) }
            return phase
        }
        var events = explicitFaults(of: kept)
        let origins = events.map(\.name)
        if isNamedApart { events = ReplayPlan.namedApart(events, from: names) }
        let newNames = Dictionary(zip(origins, events.map(\.name))) { first, _ in first }
        result.faults += events
        result.renameAwaited(newNames)
        result = result.withoutVainWaits
        if result.phases.allSatisfy(\.faults.isEmpty) {
            result.phases = []
            result.repeats = false
        }
        return result
    }

    private func explicitFaults(of units: [Unit]) -> [Fault] {
        units.compactMap { unit in
            guard case .event(let event) = unit, let origin = faults[event.fault],
                let kind = origin.kind(of: event, seed: seed), let connection = event.connection,
                let direction = event.direction
            else { return nil }
            return Fault(
                name: event.fault,
                stream: direction == .upstream ? .upstream : .downstream,
                condition: Condition(
                    connections: .range(connection...connection),
                    http: origin.messages(of: event)
                ),
                kind: kind
            )
        }
    }

    /// Whether the events of a fault are made again one by one, and the fault itself isn't.
    public static func isAtPosition(_ kind: FaultKind) -> Bool { kind.isReplayedByPosition }

    private static func namedApart(_ faults: [Fault], from taken: Set<String>) -> [Fault] {
        var taken = taken
        return faults.map { fault in
            guard case .range(let range) = fault.condition.connections else { return fault }
            var fault = fault
            // A name has a limit, which counts scalars; what is cut off is told by the number.
            var stem = String(String.UnicodeScalarView(fault.name.unicodeScalars.prefix(ProfileLimits.nameLength - 40)))
            stem += " of connection \(range.lowerBound)"
            var name = stem
            var number = 1
            while !taken.insert(name).inserted {
                number += 1
                name = "\(stem) (\(number))"
            }
            fault.name = name
            return fault
        }
    }
}

extension Profile {
    /// Has the faults that come after one of the old names come after the one of the new name.
    fileprivate mutating func renameAwaited(_ newNames: [String: String]) {
        func renamed(_ fault: Fault) -> Fault {
            guard let after = fault.condition.after, let name = newNames[after] else { return fault }
            var fault = fault
            fault.condition.after = name
            return fault
        }
        faults = faults.map(renamed)
        for index in phases.indices { phases[index].faults = phases[index].faults.map(renamed) }
    }

    /// The profile without the faults that come after one which isn't there: they would never be on.
    fileprivate var withoutVainWaits: Profile {
        var result = self
        while true {
            let known = Set((result.faults + result.phases.flatMap(\.faults)).map(\.name))
            func isVain(_ fault: Fault) -> Bool { fault.condition.after.map { !known.contains($0) } ?? false }
            guard (result.faults + result.phases.flatMap(\.faults)).contains(where: isVain) else { return result }
            result.faults.removeAll(where: isVain)
            for index in result.phases.indices { result.phases[index].faults.removeAll(where: isVain) }
        }
    }
}
