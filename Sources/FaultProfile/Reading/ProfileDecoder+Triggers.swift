import Units

extension ProfileDecoder {
    /// The addresses of `client`: one, or a list of them.
    mutating func clients(_ node: JSONNode) -> [AddressRange] {
        switch node.value {
        case .text(let text):
            return [addressRange(text, at: node.place)].compactMap { $0 }
        case .array(let nodes):
            if nodes.isEmpty {
                report("“client” is an empty list", remedy: "write an address, or delete the key", at: node.place)
            }
            let first = list(node, key: "client", limit: ProfileLimits.clients, of: "addresses") ?? []
            return first.compactMap { node in
                guard case .text(let text) = node.value else {
                    reportNoAddress(node)
                    return nil
                }
                return addressRange(text, at: node.place)
            }
        case .object, .number, .boolean, .null, .unreadable:
            reportNoAddress(node)
            return []
        }
    }

    private mutating func addressRange(_ text: String, at place: SourcePlace) -> AddressRange? {
        do {
            return try AddressRange(parsing: text)
        } catch {
            report(error, at: place)
            return nil
        }
    }

    private mutating func reportNoAddress(_ node: JSONNode) {
        let remedy = "write “\"10.0.0.0/8\"”, or a list of such"
        reportType(of: node, expected: "an address", key: "client", remedy: remedy)
    }

    /// `duty`: a time on and a time off.
    mutating func duty(_ node: JSONNode) -> DutyCycle? {
        DutyCycle.table.read(node, &self)
    }

    /// Where the value of `after` stands in a condition.
    func place(ofAfter condition: JSONNode) -> SourcePlace? {
        guard case .object(let members) = condition.value else { return nil }
        return members.first { $0.key == "after" }?.node.place
    }
}
