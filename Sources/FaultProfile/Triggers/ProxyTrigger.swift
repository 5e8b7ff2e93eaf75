extension Trigger {
    static let proxy = Trigger(
        .optional("proxy", \.proxies, .proxyNames, default: [], fallback: "all"),
        "the proxies that have the fault; not in a proxy's own fault",
        .proxies
    ) { "on \($0.proxies.joined(separator: " and "))" }
}

extension Form<[String]> {
    /// One name, or a list of them.
    fileprivate static var proxyNames: Form {
        oneOrMore(
            "proxyNames",
            "a proxy's name",
            of: .proxyName,
            "proxies in “when”",
            limit: ProfileLimits.proxies,
            empty: "write the name of a proxy, or delete it"
        )
    }
}

extension Form<String> {
    fileprivate static var proxyName: Form {
        text(.proxyName, limit: ProfileLimits.nameLength).only(
            where: { !$0.isEmpty },
            else: { key, _ in ("\(key.quoted) is empty", "write the name of a proxy") }
        )
    }
}
