import Units

extension Origin {
    var writtenMembers: [(key: String, value: JSONText)] { self == .connection ? [] : [("of", .text(rawValue))] }
}

extension BytePattern {
    var written: JSONText {
        isText ? .text(String(decoding: bytes, as: UTF8.self)) : .object([("hex", .text(hexadecimal))])
    }
}

extension StatusSelection {
    var written: JSONText {
        range.lowerBound == range.upperBound ? .number(UInt64(range.lowerBound)) : .text(text)
    }
}

extension HTTPCondition {
    var written: JSONText {
        var members: [(key: String, value: JSONText)] = []
        if let method { members.append(("method", .text(method))) }
        if let path { members.append(("path", .text(path.text))) }
        if !fields.isEmpty {
            members.append(("header", .object(fields.map { (key: $0.name, value: .text($0.value.text)) })))
        }
        if let status { members.append(("status", status.written)) }
        if let numbers = requests.written { members.append(("request", numbers)) }
        if chance < .always { members.append(("chance", .text(chance.text))) }
        return .object(members)
    }
}

extension HTTPFault {
    var writtenMembers: [(key: String, value: JSONText)] {
        switch self {
        case .answer(let answer): [("answer", answer.written)]
        case .drop(let codes): [("drop", codes.written)]
        }
    }
}

extension HTTPAnswer {
    fileprivate var written: JSONText {
        var members: [(key: String, value: JSONText)] = [("status", .number(UInt64(status)))]
        if !fields.isEmpty {
            members.append(("header", .object(fields.map { (key: $0.name, value: .text($0.value)) })))
        }
        if !body.isEmpty { members.append(("body", .text(body))) }
        return .object(members)
    }
}
