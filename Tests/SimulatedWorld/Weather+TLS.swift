/// Faults of TLS itself, and of the encrypted bytes below it.
extension Weather {
    /// Adds some to a world with TLS. An exact cut stays the only fault.
    mutating func addTLS(_ dice: inout Dice) {
        guard cut == nil else { return }
        if dice.once(in: 3) { addHandshakeFault(&dice) }
        if dice.once(in: 3) { addWireFault(&dice) }
    }

    private mutating func addHandshakeFault(_ dice: inout Dice) {
        let kind: String
        switch dice.number(0...6) {
        case 0...2:
            endsConnections = true
            kind = dice.pick([
                #""certificate": "expired""#, #""alert": "handshake_failure""#, #""reply": "HTTP/1.1 400 Bad Request""#,
                #""alert": "internal_error", "at": "\#(dice.spread(0...20_000)) B""#,
            ])
        case 3, 4:
            let point = dice.pick(["server-hello", "certificate", "finished"])
            kind = #""stall": "\#(point)", "for": "\#(time(&dice)) ms""#
        case 5: kind = #""record": "\#(dice.spread(1...16_384)) B""#
        default: kind = dice.pick([#""alpn": "h2""#, #""alpn": "none""#, #""version": "1.2""#])
        }
        faults.append(#"{ "kind": "tls", \#(kind)\#(Weather.someConnections(&dice)) }"#)
    }

    /// The milliseconds of a stall, which may be more than a handshake may take.
    private mutating func time(_ dice: inout Dice) -> Int {
        let time = dice.spread(1...20_000)
        if time > 3_000 { endsConnections = true }
        return time
    }

    private static func someConnections(_ dice: inout Dice) -> String {
        dice.pick(["", #", "when": { "connection": 1 }"#, #", "when": { "chance": "50 %" }"#])
    }

    /// A wire that takes longer for half of what lies between the layers of a connection than a handshake may.
    static func slowWire(_ dice: inout Dice) -> Weather {
        let rate = #""rate": "\#(dice.number(4...12)) KB/s""#
        return Weather(faults: [#"{ "kind": "bandwidth", \#(rate)\#(Weather.stream(&dice)) }"#])
    }

    /// What is changed on the wire isn't content any more: TLS refuses it.
    private mutating func addWireFault(_ dice: inout Dice) {
        let kind: String
        if dice.once(in: 3) {
            kind = #""kind": "stall", "for": "\#(time(&dice)) ms""#
        } else {
            endsConnections = true
            kind = dice.pick([
                #""kind": "cut", "how": "close""#, #""kind": "cut", "how": "reset""#, #""kind": "corrupt""#,
                #""kind": "truncate", "bytes": "\#(dice.spread(1...500)) B""#,
                #""kind": "insert", "bytes": "<b>Buy!</b>""#,
            ])
        }
        let place = #""at": "\#(dice.spread(0...20_000)) B", "of": "wire""#
        faults.append("{ \(kind), \(place)\(Weather.stream(&dice))\(Weather.someConnections(&dice)) }")
    }
}
