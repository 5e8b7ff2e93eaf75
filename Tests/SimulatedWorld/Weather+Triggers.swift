import FaultProfile

/// Triggers, and faults by a trace or by bytes that are searched for.
extension Weather {
    /// The trace that profiles name: opportunities at uneven times.
    static let trace = ProfileSource(file: "t.trace", text: "1\n3\n3\n4\n20\n")

    private static let first = #""name": "first""#

    /// The faults without those that come after one that is gone.
    static func withoutDangling(_ faults: [String]) -> [String] {
        if faults.contains(where: { $0.contains(first) }) { return faults }
        return faults.filter { !$0.contains(#""after": "first""#) }
    }

    /// Adds faults and triggers. An exact cut stays the only fault.
    mutating func addTriggers(_ dice: inout Dice) {
        guard cut == nil, dice.once(in: 2) else { return }
        if dice.once(in: 3) { addFound(&dice) }
        if faults.count > 1, !faults.contains(where: { $0.contains(Weather.first) }) {
            faults[0] = "{ \(Weather.first), " + faults[0].dropFirst(2)
        }
        for index in faults.indices where !faults[index].contains(#""when""#) && dice.once(in: 2) {
            faults[index] = faults[index].dropLast(2) + ", \"when\": { \(trigger(of: faults[index], &dice)) } }"
        }
    }

    private mutating func addFound(_ dice: inout Dice) {
        let stream = Weather.stream(&dice)
        let bytes = dice.pick([#""a""#, #"{ "hex": "0d 0a" }"#, #"{ "hex": "07" }"#])
        switch dice.number(0...4) {
        case 0:
            let queue = dice.spread(1_500...1_000_000)
            faults.append(#"{ "kind": "trace", "file": "t.trace", "queue": "\#(queue) B"\#(stream) }"#)
        case 1:
            endsConnections = true
            faults.append(#"{ "kind": "cut", "pattern": \#(bytes), "how": "reset"\#(stream) }"#)
        case 2:
            (endsConnections, mayHold) = (true, true)
            let how = dice.pick([#""refuse""#, #""hang""#, #""close""#, #""delay", "for": "20 ms""#])
            faults.append(#"{ "kind": "connect", "how": \#(how), "when": { \#(Weather.target(&dice)) } }"#)
        case 3:
            (endsConnections, mayHold) = (true, true)
            let how = dice.pick(["silence", "reset", "refuse"])
            let when = "\(Weather.target(&dice)), \"age\": \"\(dice.number(0...50)) ms..\(dice.number(51...200)) ms\""
            faults.append(
                #"{ "kind": "outage", "how": "\#(how)"\#(how == "silence" ? stream : ""), "when": { \#(when) } }"#
            )
        default:
            (changesBytes, endsConnections) = (true, true)
            faults.append(#"{ "kind": "insert", "pattern": \#(bytes), "bytes": "<b>"\#(stream) }"#)
        }
    }

    /// A trigger by the server that a client names or is connected to.
    private static func target(_ dice: inout Dice) -> String {
        dice.pick([
            #""host": "*.example""#, #""host": ["a", "server.example:5000"]"#, #""port": 5000"#,
            #""port": ["1..4999", 5001]"#,
        ])
    }

    /// A trigger that a fault can have.
    private func trigger(of fault: String, _ dice: inout Dice) -> String {
        let begin = dice.spread(0...200)
        let (on, off) = (dice.number(1...100), dice.number(1...100))
        let forEverybody = [
            #""clock": "\#(begin) ms..\#(begin + on) ms""#, #""clock": "\#(begin) ms..""#,
            #""duty": { "on": "\#(on) ms", "off": "\#(off) ms" }"#,
        ]
        let after = faults.contains { $0.contains(Weather.first) } && !fault.contains(Weather.first)
        let forSome = [
            #""client": "127.0.0.1""#, #""client": ["10.0.0.0/8", "::1"]"#, Weather.target(&dice),
            Weather.target(&dice),
        ]
        let isLimit = fault.contains("connection-limit")
        return dice.pick(forEverybody + (after ? [#""after": "first""#] : []) + (isLimit ? [] : forSome))
    }
}
