import Units

extension Trigger {
    static let client = list(
        "client",
        \.clients,
        .oneOrMore(
            "clients",
            #"`"127.0.0.1"`, `"10.0.0.0/8"`, `"fd00::/8"`"#,
            of: .parsed(.addressRange, "an address", AddressRange.init(parsing:), text: \.text),
            "addresses",
            empty: "write an address, or delete the key"
        ),
        "clients by their IP address",
        fact: .client,
        holds: { range, facts in facts.address.map(range.contains) ?? false },
        sentence: "for",
        name: { $0.text }
    )
}
