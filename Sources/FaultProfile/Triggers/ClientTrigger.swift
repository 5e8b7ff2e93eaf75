import Units

extension Trigger {
    static let client = Trigger(
        .optional("client", \.clients, .clients, default: [], fallback: "all"),
        "clients by their IP address",
        .connections { condition, connection in
            guard let client = connection.facts.address else { return false }
            return condition.clients.contains { $0.contains(client) }
        },
        fact: .client,
        copy: { $0.clients = $1.clients },
        sentence: { "for \($0.clients.map(\.text).joined(separator: " and "))" }
    )
}

extension Form<[AddressRange]> {
    /// One address or block, or a list of them.
    fileprivate static var clients: Form {
        oneOrMore(
            "clients",
            #"`"127.0.0.1"`, `"10.0.0.0/8"`, `"fd00::/8"`"#,
            of: .parsed(.addressRange, "an address", AddressRange.init(parsing:)) { $0.text },
            "addresses",
            empty: "write an address, or delete the key"
        )
    }
}
