/// Faults of HTTP messages.
extension Weather {
    /// Adds one, and half of the times another fault that inserts bytes at the beginning.
    mutating func addHTTP(_ dice: inout Dice) {
        endsConnections = true
        switch dice.number(0...6) {
        case 0, 1: addAnswer()
        case 2: addCut(&dice)
        case 3: addDrop(&dice)
        case 4, 5: addAlteration(&dice)
        default: addDelay(&dice)
        }
        if dice.once(in: 2) { addInsert(&dice) }
    }

    private static func base(_ dice: inout Dice) -> String {
        #""of": "\#(dice.pick(["message", "body", "resource"]))""#
    }

    private static func messages(_ dice: inout Dice) -> String {
        let condition = dice.pick([
            #""chance": "50 %""#, #""method": "POST""#, #""path": "/2""#, #""path": "/none""#, #""request": "2..""#,
        ])
        return #", "when": { "http": { \#(condition) } }"#
    }

    private mutating func addAnswer() {
        changesBytes = true
        faults.append(
            #"{ "kind": "http", "answer": { "status": 503, "body": "later" }, "when": { "chance": "50 %" } }"#
        )
    }

    private mutating func addCut(_ dice: inout Dice) {
        let offset = Weather.bytes(&dice, 1...20_000)
        let (place, how) = (dice.pick(["at", "every"]), dice.pick(["reset", "close"]))
        let base = Weather.base(&dice)
        faults.append(
            #"{ "kind": "cut", "stream": "downstream", "\#(place)": "\#(offset) B", \#(base), "how": "\#(how)" }"#
        )
    }

    private mutating func addDrop(_ dice: inout Dice) {
        changesBytes = true
        faults.append(#"{ "kind": "http", "drop": \#(dice.pick(["103", #""1xx""#])) }"#)
    }

    private mutating func addAlteration(_ dice: inout Dice) {
        changesBytes = true
        let removed = Weather.bytes(&dice, 1...500)
        let kind = dice.pick([#""kind": "corrupt""#, #""kind": "truncate", "bytes": "\#(removed) B""#])
        let place = #""at": "\#(Weather.bytes(&dice, 0...20_000)) B""#
        // Without a base in messages, the condition is what makes it one of HTTP.
        let isAimed = dice.once(in: 2)
        let base = isAimed ? ", " + Weather.base(&dice) : ""
        let messages = isAimed && dice.once(in: 2) ? "" : Weather.messages(&dice)
        faults.append("{ \(kind), \(place)\(base)\(Weather.stream(&dice))\(messages) }")
    }

    private mutating func addDelay(_ dice: inout Dice) {
        let offset = Weather.bytes(&dice, 0...20_000)
        let base = Weather.base(&dice)
        let kind = dice.pick([
            #""kind": "stall", "at": "\#(offset) B", \#(base), "for": "\#(dice.number(1...500)) ms""#,
            #""kind": "latency", "delay": "20 ms""#, #""kind": "bandwidth", "rate": "1 MB/s""#,
        ])
        faults.append("{ \(kind)\(Weather.stream(&dice))\(Weather.messages(&dice)) }")
    }

    private mutating func addInsert(_ dice: inout Dice) {
        changesBytes = true
        let offset = dice.number(0...40)
        faults.append(#"{ "kind": "insert", "at": "\#(offset) B", "bytes": "<b>Buy!</b>"\#(Weather.stream(&dice)) }"#)
    }
}
