import Units

/// Leads the words of other tools, such as Toxiproxy, netem and the Network Link Conditioner, to those of profiles.
///
/// Every function gives the remedy of a problem. Words are compared without letter case, dashes and underscores.
package enum ForeignWords {
    static func remedy(for member: JSONMember, in shape: ObjectShape) -> String {
        let known = shape.keys.map(\.name)
        let isFault = shape.keys.contains { $0.name == "kind" }
        if let entry = shape.words.first(where: { $0.isNamed(plain(member.key)) }) { return entry.remedy }
        if let remedy = remedy(forKey: member.key, of: shape.definition, isFault: isFault) { return remedy }
        let conditions = ObjectShape.condition.keys.map(\.name)
        if isFault, conditions.contains(member.key) { return move(member, as: member.key) }
        if !known.contains("kind"), known.contains("faults"), let remedy = remedy(forFault: member.key) {
            return remedy
        }
        if let nearest = nearest(to: member.key, among: known) { return nearest }
        if isFault, let key = Spelling.nearest(to: member.key, among: conditions).first { return move(member, as: key) }
        return "its keys are " + known.map(\.quoted).joined(separator: ", ")
    }

    static func remedy(forValue word: String, of key: String, among known: [String]) -> String {
        let plain = plain(word)
        if key == "kind" {
            if let remedy = remedy(forKind: word) { return remedy }
        } else if let value = values.first(where: { $0.isNamed(plain) && known.contains($0.remedy) }) {
            return "write \(value.remedy.quoted)"
        }
        return nearest(to: word, among: known) ?? "its values are " + known.map(\.quoted).joined(separator: ", ")
    }

    /// The remedy for a word in place of a kind of fault; `nil` if no tool is known to use it.
    package static func remedy(forKind word: String) -> String? {
        let plain = plain(word)
        if let kind = kinds.first(where: { $0.isNamed(plain) }) { return "write “\(kind.remedy)”" }
        return withoutFault.first { $0.isNamed(plain) }?.remedy
    }

    /// Why a text that begins with a scheme, such as `https://api.test` or `udp:53`, is no address, and what to write;
    /// `nil` for a text without one that other tools know.
    package static func refusal(ofAddress text: String) -> UnitError? {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let scheme = text[..<colon].lowercased()
        let rest = text[text.index(after: colon)...]
        // A host may be called “quic”.
        guard rest.hasPrefix("//") || scheme.hasPrefix("udp") || (scheme == "tcp" && rest.contains(":")) else {
            return nil
        }
        if datagrams.isNamed(scheme) {
            return UnitError(problem: "\(text.quoted) is for datagrams", remedy: "\(withoutDatagrams): write HOST:PORT")
        }
        guard let usual = schemes.first(where: { $0.name == scheme }) else { return nil }
        let authority = rest.drop { $0 == "/" }.prefix { !"/?#".contains($0) }
        let host = authority.split(separator: "@").last.map(String.init) ?? ""
        let isWhole = usual.port == nil || host.contains(/:[0-9]+$/)
        let address = host.isEmpty ? "HOST:PORT" : isWhole ? host : "\(host):\(usual.port ?? 0)"
        let tls = usual.isEncrypted ? "; TLS passes through as it is" : ""
        return UnitError(problem: "\(text.quoted) is a URL, not an address", remedy: "write \(address.quoted)\(tls)")
    }

    /// The schemes and names of protocols that are made of datagrams.
    private static let datagrams = Entry("udp udp4 udp6 quic dtls http3 h3", "")
    /// What to say about them, until they can be forwarded.
    package static let withoutDatagrams = "Squall forwards TCP and Unix sockets; UDP and QUIC aren't there yet"
    /// The schemes of streams, with the port that a URL may leave out.
    private static let schemes: [(name: String, port: Int?, isEncrypted: Bool)] = [
        ("http", 80, false), ("https", 443, true), ("ws", 80, false), ("wss", 443, true), ("tcp", nil, false),
        ("tls", nil, true), ("ssl", nil, true), ("redis", 6_379, false), ("rediss", 6_379, true),
        ("postgres", 5_432, false), ("postgresql", 5_432, false), ("mysql", 3_306, false), ("amqp", 5_672, false),
        ("amqps", 5_671, true), ("mongodb", 27_017, false), ("mqtt", 1_883, false), ("mqtts", 8_883, true),
        ("grpc", nil, false), ("grpcs", nil, true),
    ]

    /// Whether a key of an object that lacks `kind` was meant to be it.
    static func isKind(_ key: String) -> Bool { ["type", "toxic", "fault", "toxictype"].contains(plain(key)) }

    /// The remedy for a key of a profile, a phase or a proxy that names a fault: a kind, or a word of another tool for one.
    private static func remedy(forFault word: String) -> String? {
        if let example = example(of: word) { return "write it as a fault: “\"faults\": [ \(example) ]”" }
        let plain = plain(word)
        return withoutFault.first { $0.isNamed(plain) }?.remedy
    }

    /// A fault in JSON for a kind, or for a word of another tool; `nil` if there is none.
    static func example(of word: String) -> String? {
        let plain = plain(word)
        return kinds.first { $0.isNamed(plain) }.map { "{ \($0.remedy) }" }
            ?? FaultKind.Name.allCases.first { ForeignWords.plain($0.rawValue) == plain }?.example
    }

    private static func remedy(forKey key: String, of definition: String, isFault: Bool) -> String? {
        let plain = plain(key)
        // An object's own words come before those of every fault.
        let own = keys.first { $0.objects.contains(definition) && $0.isNamed(plain) }
        let common = isFault ? keys.first { $0.objects.isEmpty && $0.isNamed(plain) } : nil
        return (own ?? common)?.remedy
    }

    /// Says that a member of a fault belongs into its `when`.
    private static func move(_ member: JSONMember, as key: String) -> String {
        let value =
            switch member.node.value {
            case .text(let text): JSONText.text(text.shortened(to: String.quotedLimit)).compact
            case .number(let digits): digits.shortened(to: String.quotedLimit)
            case .boolean(let flag): flag ? "true" : "false"
            case .object, .array, .null, .unreadable: "…"
            }
        return "move it into “when”: “\"when\": { \"\(key)\": \(value) }”"
    }

    private static func nearest(to word: String, among known: [String]) -> String? {
        let nearest = Spelling.nearest(to: word, among: known)
        return nearest.isEmpty ? nil : "write " + nearest.map(\.quoted).joined(separator: " or ")
    }

    /// A word in lowercase, without dashes, underscores and spaces.
    package static func plain(_ word: String) -> String {
        word.prefix(Spelling.longestCompared).lowercased().filter { !"-_ ".contains($0) }
    }

    /// Words of other tools with their remedy.
    package struct Entry: Sendable {
        /// The definitions of the objects whose keys the words are about; for keys none means every fault.
        let objects: [String]
        /// The words, plain and separated by spaces.
        let words: String
        package let remedy: String

        package init(_ words: String, _ remedy: String, of objects: [String] = []) {
            (self.objects, self.words, self.remedy) = (objects, words, remedy)
        }

        package func isNamed(_ plain: String) -> Bool { words.split(separator: " ").contains { $0 == plain } }
    }
}
