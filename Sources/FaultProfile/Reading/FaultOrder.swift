import Units

/// Checks `after` conditions once all names are known.
struct FaultOrder {
    private struct Link {
        let name: String
        let after: String
        let place: SourcePlace
        /// Whether the fault is one of the whole profile, beside those of a proxy.
        var isShared = false
    }

    /// The proxy whose faults these are, with those that it takes from the profile; `nil` for the profile.
    private var proxy: String?
    private var names: [String] = []
    private var links: [Link] = []

    /// Adds a fault, the name that it comes after, and the place of that.
    mutating func add(_ name: String, after: String?, at place: SourcePlace) {
        names.append(name)
        if let after { links.append(Link(name: name, after: after, place: place)) }
    }

    /// The order of the faults of these names on a proxy, without what `check` reports of the profile.
    func narrowed(to shared: Set<String>, on proxy: String) -> FaultOrder {
        let known = Set(names)
        var order = FaultOrder()
        order.proxy = proxy
        order.names = names.filter(shared.contains)
        order.links = links.filter { shared.contains($0.name) && known.contains($0.after) }
        for index in order.links.indices { order.links[index].isShared = true }
        return order
    }

    /// Reports a name that no fault has, and faults that wait for each other.
    ///
    /// - Parameter missing: the places of names that were reported as those of no fault, each once.
    func check(_ decoder: inout ProfileDecoder, _ missing: inout Set<SourcePlace>) {
        let known = Set(names)
        let predecessors = Dictionary(links.map { ($0.name, $0.after) }) { first, _ in first }
        var reported: Set<String> = []
        for link in links {
            if !known.contains(link.after) {
                if decoder.hasLostFaults || !missing.insert(link.place).inserted { continue }
                decoder.report(
                    "\(owner) has no fault \(link.after.quoted)",
                    remedy: remedy(for: link),
                    at: link.place
                )
            } else if link.isShared {
                continue
            } else if link.after == link.name {
                decoder.report(
                    "the fault \(link.name.quoted) comes after itself, so it never comes",
                    remedy: "write the name of another fault",
                    at: link.place
                )
            } else if let circle = circle(from: link.name, predecessors), reported.isDisjoint(with: circle) {
                reported.formUnion(circle)
                let chain = (circle.dropFirst() + [link.name]).map { "after \($0.quoted)" }.joined(separator: ", ")
                decoder.report(
                    "the fault \(link.name.quoted) comes \(chain): a circle, so none of them ever comes",
                    remedy: "delete “after” in one of them",
                    at: link.place
                )
            }
        }
    }

    /// The names that lead from a fault back to it, the fault first; `nil` if they don't.
    private func circle(from name: String, _ predecessors: [String: String]) -> [String]? {
        var circle = [name]
        var current = predecessors[name]
        while let next = current, next != name {
            // A circle further on is found from there.
            guard circle.count <= predecessors.count else { return nil }
            circle.append(next)
            current = predecessors[next]
        }
        return current == nil ? nil : circle
    }

    private var owner: String { proxy.map { "the proxy \($0.quoted)" } ?? "the profile" }

    private func remedy(for link: Link) -> String {
        if link.isShared { return "narrow this fault to proxies that have the other one, by “proxy” in its “when”" }
        let others = names.filter { $0 != link.name }
        let nearest = Spelling.nearest(to: link.after, among: others)
        if !nearest.isEmpty { return "write " + nearest.map(\.quoted).joined(separator: " or ") }
        guard !others.isEmpty else { return "delete “after”: \(owner) has no other fault" }
        let list = others.prefix(8).map(\.quoted).joined(separator: ", ") + (others.count > 8 ? ", …" : "")
        return "write the name of a fault: \(list)"
    }
}
