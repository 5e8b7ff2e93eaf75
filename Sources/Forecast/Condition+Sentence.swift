import FaultProfile
import Units

extension Condition {
    /// "connections from 1 to 2, with a chance of 50 %, from an age of 5 s".
    var sentence: String {
        var parts: [String] = []
        switch connections {
        case .all: break
        case .range(let range) where range.lowerBound == range.upperBound:
            parts.append("connection \(range.lowerBound)")
        case .range(let range):
            let isOpen = range.upperBound == .max
            parts.append("connections from \(range.lowerBound)" + (isOpen ? " on" : " to \(range.upperBound)"))
        case .every(let step): parts.append("every connection of \(step)")
        }
        if chance < .always { parts.append("with a chance of \(chance.text)") }
        if ageFrom > .zero { parts.append("from an age of \(ageFrom.text)") }
        if let ageUntil { parts.append("up to an age of \(ageUntil.text)") }
        if !clients.isEmpty { parts.append("for \(clients.map(\.text).joined(separator: " and "))") }
        if !hosts.isEmpty { parts.append("to \(hosts.map(\.text).joined(separator: " and "))") }
        if let clock, clock.from > .zero || clock.until == nil { parts.append("from \(clock.from.text) on") }
        if let until = clock?.until { parts.append("until \(until.text)") }
        if let duty { parts.append("\(duty.on.text) on and \(duty.off.text) off") }
        if let after { parts.append("after \(after)") }
        if let http { parts.append(http.sentence) }
        return parts.joined(separator: ", ")
    }
}

extension HTTPCondition {
    /// "GET /files/* answered 206, request 2".
    fileprivate var sentence: String {
        var words = [method ?? "requests", path?.text].compactMap { $0 }
        words += fields.map { "with \($0.name): \($0.value.text)" }
        if let status { words.append("answered \(status.text)") }
        var parts = [words.joined(separator: " ")]
        switch requests {
        case .all: break
        case .range(let range) where range.lowerBound == range.upperBound: parts.append("request \(range.lowerBound)")
        case .range(let range):
            let isOpen = range.upperBound == .max
            parts.append("requests from \(range.lowerBound)" + (isOpen ? " on" : " to \(range.upperBound)"))
        case .every(let step): parts.append("every request of \(step)")
        }
        if chance < .always { parts.append("each with a chance of \(chance.text)") }
        return parts.joined(separator: ", ")
    }
}
