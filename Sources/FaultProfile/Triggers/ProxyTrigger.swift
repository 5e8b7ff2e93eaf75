extension Trigger {
    static let proxy = Trigger(
        .optional("proxy", \.proxies, names, default: [], fallback: "all"),
        "the proxies that have the fault; not in a proxy's own fault",
        .proxies
    ) { "on \($0.proxies.joined(separator: " and "))" }

    private static let names = Form<[String]>.oneOrMore(
        "proxyNames",
        "a proxy's name",
        of: .text(.proxyName, limit: ProfileLimits.nameLength).only(
            where: { !$0.isEmpty },
            else: { key, _ in ("\(key.quoted) is empty", "write the name of a proxy") }
        ),
        "proxies in “when”",
        limit: ProfileLimits.proxies,
        empty: "write the name of a proxy, or delete it"
    )
}
