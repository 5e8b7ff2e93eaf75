import FaultPlan
import FaultProfile
import Units

/// Repeats the faults of a journal: those decided by a position as faults of their own, each on its connection at its
/// offset; those decided by time as in the profile.
public struct ReplayPlan: Sendable {
    /// An element that can be kept or left out.
    public enum Unit: Hashable, Sendable {
        /// An event that a position decided: a cut, a stall, a truncation, a corruption, an insertion or a half-open direction.
        case event(RecordedFaultEvent)
        /// A fault of the profile, by its name.
        case fault(String)
    }

    /// The most events of a journal: 65,536.
    public static let eventLimit = 65_536

    /// The profile of the journal, with the seed of its run.
    public let profile: Profile
    /// The elements of the journal, without duplicates, in order.
    public let units: [Unit]

    /// The profile's faults by their names.
    private let faults: [String: OriginalFault]
    private let seed: UInt64
    /// Whether events with a target are repeated on the connections to it, and not on all by their numbers.
    private let isByTarget: Bool

    /// Makes the replay of the events of one proxy, which drew with `seed`. Events of unknown faults are ignored.
    public init(profile: Profile, seed: UInt64, events: [RecordedFaultEvent]) {
        self.init(profile: profile, seed: seed, events: events, isByTarget: true)
    }

    /// The same; without `isByTarget` all connections have the target of the events.
    init(profile: Profile, seed: UInt64, events: [RecordedFaultEvent], isByTarget: Bool) {
        var profile = profile
        profile.seed = seed
        self.profile = profile
        self.seed = seed
        let faults = Dictionary(OriginalFault.all(of: profile).map { ($0.fault.name, $0) }) { first, _ in first }
        var known: Set<Unit> = []
        var units: [Unit] = []
        for event in events.prefix(ReplayPlan.eventLimit) {
            // An unreadable stream isn't a fault.
            guard let fault = faults[event.fault], event.what != FaultEvent.Effect.unreadWord else { continue }
            let isExplicit = fault.kind(of: event, seed: seed) != nil
            let unit = isExplicit ? Unit.event(event) : .fault(event.fault)
            if known.insert(unit).inserted { units.append(unit) }
        }
        self.units = units
        self.faults = faults
        self.isByTarget = isByTarget
    }

    /// The profile that repeats the whole journal, with all faults decided by time.
    ///
    /// Faults keep the name of their original, so that the new journal reads like the old one; names may repeat.
    public var everything: Profile {
        let events = explicitFaults(of: units, areRenamed: false)
        var result = profile
        result.faults = profile.faults.filter { !$0.kind.isReplayedByPosition } + events
        result.phases = profile.phases.map { phase in
            var phase = phase
            phase.faults.removeAll { $0.kind.isReplayedByPosition }
            return phase
        }
        return result.withoutDanglingTriggers
    }

    /// The profile with only the elements of `kept`. Phases remain as long as one of them has a fault.
    ///
    /// With `isNamedApart` names are unique, so that the profile can be written and read again.
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
        var events = explicitFaults(of: kept, areRenamed: isNamedApart)
        let origins = events.map(\.name)
        if isNamedApart { events = ReplayPlan.namedApart(events, from: names) }
        let newNames = Dictionary(zip(origins, events.map(\.name))) { first, _ in first }
        result.faults += events
        result.renameTriggers(newNames)
        result = result.withoutDanglingTriggers
        if result.phases.allSatisfy(\.faults.isEmpty) {
            result.phases = []
            result.repeats = false
        }
        return result
    }

    /// A fault of `kept` that waits for another one of which several events are kept. In a profile with unique names it
    /// waits for the first of them.
    package func faultAfterSeveral(in kept: [Unit]) -> (name: String, trigger: String)? {
        var counts: [String: Int] = [:]
        for case .event(let event) in kept { counts[event.fault, default: 0] += 1 }
        for case .fault(let name) in kept {
            if let trigger = faults[name]?.fault.condition.after, counts[trigger, default: 0] > 1 {
                return (name, trigger)
            }
        }
        return nil
    }

    private func explicitFaults(of units: [Unit], areRenamed: Bool) -> [Fault] {
        units.compactMap { unit in
            guard case .event(let event) = unit, let origin = faults[event.fault],
                let kind = origin.kind(of: event, seed: seed), let connection = event.connection,
                let direction = event.direction
            else { return nil }
            let messages = origin.messages(of: event, drawsAgain: !areRenamed && event.target == nil)
            var condition = Condition(connections: .range(connection...connection), http: messages)
            if let target = event.target {
                condition.connections = .range(target.number...target.number)
                if isByTarget {
                    condition.connections = .perTarget(condition.connections)
                    condition.hosts = [target.host]
                }
            }
            var stream = direction == .upstream ? StreamSelection.upstream : .downstream
            // An alert ends both directions.
            if case .tls = kind { stream = .both }
            return Fault(
                name: event.fault,
                stream: stream,
                condition: condition,
                kind: kind
            )
        }
    }

    private static func namedApart(_ faults: [Fault], from taken: Set<String>) -> [Fault] {
        var taken = taken
        // The last number behind each name.
        var numbers: [String: Int] = [:]
        return faults.map { fault in
            let place: String
            switch fault.condition.connections {
            case .range(let range): place = "\(range.lowerBound)"
            case .perTarget(.range(let range)):
                place = "\(range.lowerBound) to \(fault.condition.hosts.map(\.text).joined())"
            case .all, .every, .perTarget: return fault
            }
            var fault = fault
            let length = max(0, ProfileLimits.nameLength - 40 - place.count)
            // Names have a limit in scalars; the number keeps shortened ones apart.
            var stem = String(String.UnicodeScalarView(fault.name.unicodeScalars.prefix(length)))
            stem += " of connection \(place)"
            var name = stem
            var number = numbers[stem] ?? 1
            if number > 1 { name += " (\(number))" }
            while !taken.insert(name).inserted {
                number += 1
                name = "\(stem) (\(number))"
            }
            numbers[stem] = number
            fault.name = name
            return fault
        }
    }
}

extension Profile {
    /// Renames the faults that others come after.
    fileprivate mutating func renameTriggers(_ newNames: [String: String]) {
        func renamed(_ fault: Fault) -> Fault {
            guard let after = fault.condition.after, let name = newNames[after] else { return fault }
            var fault = fault
            fault.condition.after = name
            return fault
        }
        faults = faults.map(renamed)
        for index in phases.indices { phases[index].faults = phases[index].faults.map(renamed) }
    }

    /// The profile without faults that come after a missing one, which would never be on.
    fileprivate var withoutDanglingTriggers: Profile {
        var result = self
        while true {
            let known = Set((result.faults + result.phases.flatMap(\.faults)).map(\.name))
            func isDangling(_ fault: Fault) -> Bool { fault.condition.after.map { !known.contains($0) } ?? false }
            guard (result.faults + result.phases.flatMap(\.faults)).contains(where: isDangling) else { return result }
            result.faults.removeAll(where: isDangling)
            for index in result.phases.indices { result.phases[index].faults.removeAll(where: isDangling) }
        }
    }
}
