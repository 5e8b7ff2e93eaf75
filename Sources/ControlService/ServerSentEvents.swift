/// Parses a stream of server-sent events (HTML Living Standard, section 9.2.6).
package struct ServerSentEvents {
    /// An event with its type and its data.
    package struct Event: Equatable {
        package var name: String
        package var data: String
    }

    /// The maximum size of an event: 1 MiB.
    static let sizeLimit = 1 << 20

    private var line: [UInt8] = []
    private var name = ""
    private var data: [String] = []
    private var size = 0

    /// A parser at the beginning of a stream.
    package init() {}

    /// Parses further bytes, and returns the events that they complete.
    package mutating func append(_ bytes: [UInt8]) throws(ControlClient.Failure) -> [Event] {
        var events: [Event] = []
        for byte in bytes {
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                size += 1
                if size > ServerSentEvents.sizeLimit {
                    throw ControlClient.Failure(text: "an event of the server is longer than 1 MiB")
                }
                continue
            }
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            if let event = finishLine() { events.append(event) }
        }
        return events
    }

    /// Handles a complete line; an empty one completes an event.
    private mutating func finishLine() -> Event? {
        let text = String(decoding: line, as: UTF8.self)
        line = []
        guard !text.isEmpty else {
            defer { (name, data, size) = ("", [], 0) }
            return data.isEmpty ? nil : Event(name: name.isEmpty ? "message" : name, data: data.joined(separator: "\n"))
        }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        var value = parts.count > 1 ? parts[1] : ""
        if value.hasPrefix(" ") { value.removeFirst() }
        switch parts[0] {
        case "event": name = String(value)
        case "data": data.append(String(value))
        // Comments, `id`, `retry` and unknown fields.
        default: break
        }
        return nil
    }
}
