import Units

extension Trigger {
    static let connection = Trigger(
        .optional("connection", \.connections, .connections, default: .all, fallback: "all"),
        "connections by number, from 1; `every`: its multiples; `per`: those to each target count from 1",
        .connections { condition, connection in
            let facts = connection.facts
            // Without a target there is one server.
            let number = condition.connections.isPerTarget ? facts.numberAtTarget : nil
            return condition.connections.contains(number ?? connection.ordinal)
        },
        copy: { $0.connections = $1.connections },
        sentence: { $0.connections.sentence("connection") }
    )
}

/// Connections of a proxy by number, counted from 1.
public enum ConnectionSelection: Hashable, Sendable {
    case all
    /// From the first to the second, both included.
    case range(ClosedRange<UInt64>)
    /// Connections whose number is a multiple of this, 1 or more.
    case every(UInt64)
    /// The same, of the connections to each target, which count from 1.
    indirect case perTarget(ConnectionSelection)

    var isPerTarget: Bool { if case .perTarget = self { true } else { false } }

    /// Whether the connection of this number, counted from 1, is among them.
    public func contains(_ ordinal: UInt64) -> Bool {
        switch self {
        case .all: true
        case .range(let range): range.contains(ordinal)
        case .every(let step): ordinal.isMultiple(of: step)
        case .perTarget(let selection): selection.contains(ordinal)
        }
    }
}

extension ConnectionSelection {
    /// The JSON value; `nil` for all.
    var written: JSONText? {
        switch self {
        case .all: nil
        case .range(let range) where range.lowerBound == range.upperBound: .number(range.lowerBound)
        case .range(let range):
            .text("\(range.lowerBound)..\(range.upperBound == .max ? "" : String(range.upperBound))")
        case .every(let step): .object([("every", .number(step))])
        case .perTarget(let selection):
            .object([("number", selection.written ?? .text("1..")), ("per", .text("target"))])
        }
    }

    /// "connections from 1 to 2".
    func sentence(_ noun: String) -> String {
        switch self {
        case .all: "all \(noun)s"
        case .range(let range) where range.lowerBound == range.upperBound: "\(noun) \(range.lowerBound)"
        case .range(let range):
            "\(noun)s from \(range.lowerBound)" + (range.upperBound == .max ? " on" : " to \(range.upperBound)")
        case .every(let step): "every \(noun) of \(step)"
        case .perTarget(let selection): "\(selection.sentence(noun)) to each target"
        }
    }
}

/// What connections have a count of their own for.
private enum Counting: String, CaseIterable {
    case target
}

extension Form<ConnectionSelection> {
    /// Requests by number: `3`, `"1..2"`, `"3.."`, `{ "every": 3 }`.
    static var ordinals: Form {
        Form(.ordinals, read: { $2.ordinals($0, key: $1) }, write: { $0.written ?? .text("1..") })
    }

    /// Connections by number, also `{ "number": 3, "per": "target" }`.
    static var connections: Form {
        Form(
            .connections,
            read: { node, key, decoder in
                guard node["number"] != nil || node["per"] != nil else { return decoder.ordinals(node, key: key) }
                guard let object = decoder.object(node, .connectionsPerTarget), let number = object["number"],
                    let per = object["per"], let _: Counting = decoder.choice(per, "per")
                else { return nil }
                return decoder.ordinals(number, key: "number").map { .perTarget($0) }
            },
            write: { $0.written ?? .text("1..") }
        )
    }
}

extension ProfileDecoder {
    private static let ordinalRemedy = "write 3, “1..2”, “3..” or { \"every\": 3 }"

    fileprivate mutating func ordinals(_ node: JSONNode, key: String) -> ConnectionSelection? {
        let allowed = 1...ProfileLimits.connectionNumber
        switch node.value {
        case .number:
            return wholeNumber(node, key: key, in: allowed).map { .range($0...$0) }
        case .object:
            let shape = key == "request" ? ObjectShape.requestStep : .connectionStep
            guard let object = object(node, shape), let step = object["every"] else { return nil }
            return wholeNumber(step, key: "every", in: allowed).map { .every($0) }
        case .text(let text):
            let remedy = ProfileDecoder.ordinalRemedy
            return range(text, of: "\(key)s", in: allowed, remedy: remedy, at: node.place).map {
                .range($0.lowerBound...($0.upperBound ?? .max))
            }
        case .array, .boolean, .null, .unreadable:
            let expected = "a number, a range or a step"
            reportType(of: node, expected: expected, key: key, remedy: ProfileDecoder.ordinalRemedy)
            return nil
        }
    }

    /// A range of whole numbers from `allowed`: "1..2" or, without an end, "3..".
    mutating func range(
        _ text: String,
        of what: String,
        in allowed: ClosedRange<UInt64>,
        remedy: String,
        at place: SourcePlace
    ) -> (lowerBound: UInt64, upperBound: UInt64?)? {
        func number(_ digits: String) -> UInt64? {
            digits.isDecimal ? UInt64(digits).flatMap { allowed.contains($0) ? $0 : nil } : nil
        }
        guard let (first, last) = ProfileDecoder.rangeEnds(of: text), let lower = number(first),
            last.isEmpty || number(last) != nil
        else {
            report("\(text.quoted) is not a range of \(what)", remedy: remedy, at: place)
            return nil
        }
        let upper = number(last)
        guard upper.map({ lower <= $0 }) ?? true else {
            report("the range \(text.quoted) ends before it begins", remedy: "write “\(last)..\(first)”", at: place)
            return nil
        }
        return (lower, upper)
    }
}
