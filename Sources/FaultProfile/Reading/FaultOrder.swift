import Units

/// Checks `after` conditions once all names are known.
struct FaultOrder {
    private struct Link {
        let name: String
        let after: String
        let place: SourcePlace
    }

    private var names: [String] = []
    private var links: [Link] = []

    /// Adds a fault, the name that it comes after, and the place of that.
    mutating func add(_ name: String, after: String?, at place: SourcePlace) {
        names.append(name)
        if let after { links.append(Link(name: name, after: after, place: place)) }
    }

    /// Reports a name that no fault has, and faults that wait for each other.
    func check(_ decoder: inout ProfileDecoder) {
        let known = Set(names)
        let predecessors = Dictionary(links.map { ($0.name, $0.after) }) { first, _ in first }
        var reported: Set<String> = []
        for link in links {
            if !known.contains(link.after) {
                if decoder.hasLostFaults { continue }
                decoder.report(
                    "the profile has no fault \(link.after.quoted)",
                    remedy: remedy(for: link),
                    at: link.place
                )
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

    private func remedy(for link: Link) -> String {
        let others = names.filter { $0 != link.name }
        let nearest = Spelling.nearest(to: link.after, among: others)
        if !nearest.isEmpty { return "write " + nearest.map(\.quoted).joined(separator: " or ") }
        guard !others.isEmpty else { return "delete “after”: the profile has no other fault" }
        let list = others.prefix(8).map(\.quoted).joined(separator: ", ") + (others.count > 8 ? ", …" : "")
        return "write the name of a fault: \(list)"
    }
}
