import FaultPlan

/// The requests of a connection that await their responses.
final class Exchange {
    /// The head of a message, and how its content ends.
    typealias Head = (message: Message, framing: Framing)

    private var waiting: [Message] = []
    private var number: Int64 = 0
    /// Whether targets are needed, and the names of the needed fields.
    private var keepsTargets = false
    private var fieldNames: [String] = []

    init(_ interest: StreamInterest) {
        apply(interest)
    }

    /// Keeps what `interest` needs, from the next request on.
    func apply(_ interest: StreamInterest) {
        keepsTargets = interest.targets
        fieldNames = interest.fields.map { $0.lowercased() }
    }

    var awaitsResponse: Bool { !waiting.isEmpty }

    func awaitsResponse(before request: Int64) -> Bool { waiting.first.map { $0.request < request } ?? false }

    /// The method of a pending request, by its number.
    func method(of request: Int64) -> String? { waiting.first { $0.request == request }?.method }

    func request(_ head: Span<UInt8>) throws(UnreadReason) -> Head {
        var line = StartLine.request
        guard line.read(head), line.progress == .whole else { throw .notHTTP }
        let fields = try HeadFields(head, from: line.length, isRequest: true, keeping: fieldNames)
        let framing = try Framing(request: fields)
        guard waiting.count < StreamReader.requestLimit else { throw .manyRequests }
        number += 1
        let message = Message(
            request: number,
            method: head.text(line.method),
            target: keepsTargets ? head.text(line.target) : "",
            fields: fields.wanted,
            resourceStart: fields.uploadStart(head)
        )
        waiting.append(message)
        return (message, framing)
    }

    func response(_ head: Span<UInt8>) throws(UnreadReason) -> Head {
        var line = StartLine.response
        guard line.read(head), line.progress == .whole, let status = head.number(line.status) else { throw .notHTTP }
        guard let request = waiting.first else { throw .noRequest }
        let fields = try HeadFields(head, from: line.length, isRequest: false, keeping: [])
        let framing = try Framing(response: fields, status: Int(status), to: request.method)
        if status >= 200 || status == 101 { waiting.removeFirst() }
        var message = request
        message.status = Int(status)
        message.resourceStart = fields.downloadStart(head, status: Int(status))
        return (message, framing)
    }

    /// Drops all pending requests, because no response comes any more.
    func abandon() { waiting.removeAll() }

    /// Begins anew: no request is pending, and the next one has the number 1.
    func restart() {
        abandon()
        number = 0
    }
}
