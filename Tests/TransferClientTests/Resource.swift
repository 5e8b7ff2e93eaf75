import Digests
import HTTPSemantics
import TestStreams
import TransferProtocol
import Units

/// A file on a scripted server, with the correct responses.
struct Resource: Sendable {
    var content: [UInt8]
    var entityTag: String? = "\"v1\""
    var lastModified: String?
    var sendsDigest = false

    init(size: Int, seed: UInt64 = 1) {
        content = testBytes(size, seed: seed)
    }

    var sha256: [UInt8] { SHA256.hash(content) }

    var fields: [String] {
        var fields = ["Date: Sun, 06 Nov 1994 08:49:37 GMT"]
        if let entityTag { fields.append("ETag: \(entityTag)") }
        if let lastModified { fields.append("Last-Modified: \(lastModified)") }
        if sendsDigest, let digest = ReprDigest(sha256: sha256) { fields.append("Repr-Digest: \(digest.headerValue)") }
        return fields
    }

    /// The correct response, as head and body.
    func response(_ request: ReceivedRequest) -> (head: Step, body: [UInt8]) {
        let mayResume = request.fields["if-range"].map { $0 == entityTag || $0 == lastModified } ?? true
        guard let start = request.rangeStart, mayResume else {
            return (full(), request.method == "HEAD" ? [] : content)
        }
        guard start < content.count else {
            return (.head(416, ["Content-Range: bytes */\(content.count)", "Content-Length: 0"]), [])
        }
        let last = min(request.rangeEnd ?? .max, content.count - 1)
        return (part(from: start, through: last), Array(content[start...last]))
    }

    /// The head of a 200.
    func full(_ more: [String] = []) -> Step {
        .head(200, fields + ["Content-Length: \(content.count)"] + more)
    }

    /// The head of a 206 of the bytes from `first` to the end, or up to and including `last`.
    func part(from first: Int, through last: Int? = nil, _ more: [String] = []) -> Step {
        let last = last ?? content.count - 1
        return .head(
            206,
            fields
                + [
                    "Content-Range: bytes \(first)-\(last)/\(content.count)",
                    "Content-Length: \(last - first + 1)",
                ] + more
        )
    }

    /// The complete correct response.
    func serve(_ request: ReceivedRequest) -> [Step] {
        let (head, body) = response(request)
        return [head, .send(body)]
    }

    /// Cuts the first response after this many body bytes and sends no second one, so that a run with one attempt ends
    /// there; then the correct response.
    func serve(_ request: ReceivedRequest, interruptedAfter count: Int) -> [Step] {
        switch request.ordinal {
        case 0: serve(request, upTo: count)
        case 1: []
        default: serve(request)
        }
    }

    /// The correct response, with `then` after this many body bytes.
    func serve(_ request: ReceivedRequest, upTo count: Int, then step: Step? = nil) -> [Step] {
        let (head, body) = response(request)
        return [head, .send(Array(body.prefix(count)))] + (step.map { [$0] } ?? [])
    }
}

extension Step {
    static func head(_ status: Int, _ fields: [String]) -> Step {
        .text((["HTTP/1.1 \(status) Scripted"] + fields + ["", ""]).joined(separator: "\r\n"))
    }
}
