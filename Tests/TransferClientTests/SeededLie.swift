import Units

/// A server that breaks its first connection and lies where the parts join, under equal validators.
struct SeededLie: Sendable {
    private enum Kind: CaseIterable {
        /// The connection ends with bytes that aren't the file's.
        case endsWithGarbage
        /// The next part begins with bytes that aren't the file's.
        case beginsWithGarbage
        /// The next part isn't where it says.
        case shifted
        /// One bit of the last bytes is wrong.
        case flipped
        /// The next part ends early, as it says, with bytes that aren't the file's.
        case endsPartWithGarbage
    }

    let seed: UInt64
    let resource: Resource
    private let kind: Kind
    private let cut: Int
    private let garbage: [UInt8]

    init(seed: UInt64) {
        self.seed = seed
        var generator = SeededGenerator(seed: seed)
        var resource = Resource(size: Int.random(in: 1_000...150_000, using: &generator), seed: seed)
        resource.lastModified = "Sun, 06 Nov 1994 08:30:00 GMT"
        kind = Kind.allCases.randomElement(using: &generator) ?? .shifted
        // From one byte to nearly all.
        let most = Int.random(in: 1..<resource.content.count - 100, using: &generator)
        cut = max(1, most >> Int.random(in: 0...12, using: &generator))
        let room = min(64 << 10, resource.content.count - cut - 1)
        garbage = (0..<Int.random(in: 1...room, using: &generator)).map { _ in
            UInt8(truncatingIfNeeded: generator.next() >> 32)
        }
        self.resource = resource
    }

    func respond(to request: ReceivedRequest) -> [Step] {
        guard request.ordinal < 2 else { return resource.serve(request) }
        var (head, body) = resource.response(request)
        switch (kind, request.ordinal) {
        case (.endsWithGarbage, 0): return [head, .send(body.prefix(cut) + garbage)]
        case (.flipped, 0):
            body = Array(body.prefix(cut))
            if let last = body.indices.last { body[max(0, last - garbage.count % 8)] ^= 1 << UInt8(garbage.count % 8) }
            return [head, .send(body)]
        case (_, 0): return [head, .send(Array(body.prefix(cut)))]
        case (.endsPartWithGarbage, _):
            guard let start = request.rangeStart, resource.content.count - start > garbage.count + 1 else {
                return [head, .send(body)]
            }
            let last = resource.content.count - 2
            let part = Array(resource.content[start...last].dropLast(garbage.count))
            return [resource.part(from: start, through: last), .send(part + garbage)]
        case (.beginsWithGarbage, _):
            return [head, .send(Array((garbage + body.dropFirst(garbage.count)).prefix(body.count)))]
        case (.shifted, _): return [head, .send(Array(body.dropFirst(1) + body.prefix(1)))]
        default: return [head, .send(body)]
        }
    }
}
