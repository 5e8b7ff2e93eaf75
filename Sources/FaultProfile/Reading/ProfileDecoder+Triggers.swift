import Units

extension Form<[AddressRange]> {
    /// `client`: one address or block, or a list of them.
    static var clients: Form {
        Form(
            .clients,
            read: { node, key, decoder in
                decoder.oneOrMore(
                    node,
                    key,
                    limit: ProfileLimits.clients,
                    of: "addresses",
                    empty: "write an address, or delete the key",
                    expected: ("an address", "write “\"10.0.0.0/8\"”, or a list of such")
                ) { node, text, decoder in decoder.parsed(text, at: node.place, AddressRange.init(parsing:)) }
            },
            write: { $0.count == 1 ? .text($0[0].text) : .array($0.map { .text($0.text) }) }
        )
    }
}

extension Form<[HostPattern]> {
    /// `host`: one name, or a list of them.
    static var hosts: Form {
        Form(
            .hosts,
            read: { node, key, decoder in
                decoder.oneOrMore(
                    node,
                    key,
                    limit: ProfileLimits.clients,
                    of: "hosts",
                    empty: "write the name of a host, or delete the key",
                    expected: ("the name of a host", "write “\"*.example.com\"”, or a list of such")
                ) { node, text, decoder in decoder.parsed(text, at: node.place, HostPattern.init(parsing:)) }
            },
            write: { $0.count == 1 ? .text($0[0].text) : .array($0.map { .text($0.text) }) }
        )
    }
}

extension Form<[String]> {
    /// `when.proxy`: one name, or a list of them.
    static var proxyNames: Form {
        Form(
            .proxyNames,
            read: { node, key, decoder in
                decoder.oneOrMore(
                    node,
                    key,
                    limit: ProfileLimits.proxies,
                    of: "proxies in “when”",
                    empty: "write the name of a proxy, or delete it",
                    expected: ("the name of a proxy, or a list of such", "write “\"web\"” or “[\"web\", \"api\"]”"),
                    elementsAre: ("a text", "write it in double quotes")
                ) { node, name, decoder in
                    guard decoder.text(node, key: key, limit: ProfileLimits.nameLength) != nil else { return nil }
                    if !name.isEmpty { return name }
                    decoder.report("\(key.quoted) is empty", remedy: "write the name of a proxy", at: node.place)
                    return nil
                }
            },
            write: { $0.count == 1 ? .text($0[0]) : .array($0.map { .text($0) }) }
        )
    }
}

extension ProfileDecoder {
    /// The values of a text, or of a list of texts; those for which `read` returns `nil` are omitted.
    fileprivate mutating func oneOrMore<Value>(
        _ node: JSONNode,
        _ key: String,
        limit: Int,
        of what: String,
        empty remedy: String,
        expected: (what: String, remedy: String),
        elementsAre: (what: String, remedy: String)? = nil,
        _ read: (JSONNode, String, inout ProfileDecoder) -> Value?
    ) -> [Value] {
        let nodes: [JSONNode]
        var element = expected
        if case .array(let elements) = node.value {
            if elements.isEmpty { report("\(key.quoted) is an empty list", remedy: remedy, at: node.place) }
            nodes = list(node, key: key, limit: limit, of: what) ?? []
            element = elementsAre ?? expected
        } else {
            nodes = [node]
        }
        return nodes.compactMap { node in
            if case .text(let text) = node.value { return read(node, text, &self) }
            reportType(of: node, expected: element.what, key: key, remedy: element.remedy)
            return nil
        }
    }

    /// The place of the value of `after` in a condition.
    func place(ofAfter condition: JSONNode) -> SourcePlace? {
        condition.members.first { $0.key == "after" }?.node.place
    }

    /// The places of the names in `when.proxy`.
    func places(ofProxies condition: JSONNode) -> [SourcePlace] {
        guard let node = condition.members.first(where: { $0.key == "proxy" })?.node else { return [] }
        guard case .array(let nodes) = node.value else { return [node.place] }
        return nodes.map(\.place)
    }
}
