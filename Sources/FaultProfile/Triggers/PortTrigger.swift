import Units

extension Trigger {
    static let port = list(
        "port",
        \.ports,
        .oneOrMore(
            "ports",
            #"`443`, `"8000..8999"`, `"1024.."`"#,
            of: .port,
            "ports",
            empty: "write a port, or delete the key"
        ),
        "the server's port: the one that the client names to the forward proxy, or the upstream's",
        fact: .port,
        holds: { range, facts in facts.port.map(range.contains) ?? false },
        sentence: "to port",
        name: { $0.text }
    )
}

extension Form<ClosedRange<UInt16>> {
    private static let remedy = "write 443, “8000..8999”, “1024..” or a list of such"

    fileprivate static var port: Form {
        let allowed: ClosedRange<UInt64> = 1...UInt64(UInt16.max)
        let range = JSONText.string("(\(Pattern.port))\\.\\.(\(Pattern.port))?")
        return Form(
            ValueForm("port", "port", "443", .oneOf(.integer(allowed), range)),
            read: { node, key, decoder in
                switch node.value {
                case .number:
                    return decoder.wholeNumber(node, key: key, in: allowed).map { UInt16($0)...UInt16($0) }
                case .text(let text):
                    let range = decoder.range(text, of: "\(key)s", in: allowed, remedy: remedy, at: node.place)
                    return range.map { UInt16($0.lowerBound)...UInt16($0.upperBound ?? allowed.upperBound) }
                case .object, .array, .boolean, .null, .unreadable:
                    decoder.reportType(of: node, expected: "a port or a range of ports", key: key, remedy: remedy)
                    return nil
                }
            },
            write: { $0.count == 1 ? .number(UInt64($0.lowerBound)) : .text($0.text) }
        )
    }
}

extension ClosedRange<UInt16> {
    /// "443", "8000..8999" or "1024..".
    fileprivate var text: String {
        if count == 1 { return "\(lowerBound)" }
        return "\(lowerBound).." + (upperBound == .max ? "" : "\(upperBound)")
    }
}
