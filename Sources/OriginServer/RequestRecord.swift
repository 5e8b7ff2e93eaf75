import HTTPSemantics
import TransferProtocol

/// A line of the request log.
public struct RequestRecord: Hashable, Sendable {
    /// How the response ended.
    public enum Ending: String, Hashable, Sendable {
        /// The system took all of it.
        case complete
        /// The connection was lost, or closed by a timeout or shutdown, before the end.
        case disconnected
        /// The file changed or became unreadable while it was sent, so the connection was closed.
        case fileChanged = "file-changed"
    }

    /// The method as sent; `-` when the request couldn't be parsed.
    public let method: String
    /// The request target as sent, including the query; `-` when the request couldn't be parsed. Untrusted: it may
    /// contain any bytes but spaces.
    public let target: String
    /// The status of the response, from 200 to 599; 0 for an upload without one.
    public let status: Int
    /// The range sent in a 206, or the length in a 416.
    public let range: ContentRange?
    /// Content bytes passed to the system, without the head.
    public let bytesSent: Int64
    /// Content bytes received, for an upload.
    public let bytesReceived: Int64
    /// The time from the end of the request to the end of the response; for an upload, from the request's head.
    public let duration: Duration
    /// How the response ended.
    public let ending: Ending
}

extension RequestRecord: CustomStringConvertible {
    /// One line; everything but printable ASCII in the request is escaped.
    public var description: String {
        let part = range.map { " [\($0.headerValue)]" } ?? ""
        let end = ending == .complete ? "" : " \(ending.rawValue)"
        let milliseconds = duration / .milliseconds(1)
        let took = (milliseconds * 10).rounded() / 10
        let count = bytesReceived > 0 ? "\(bytesReceived) B received" : "\(bytesSent) B"
        return "\(method.printable) \(target.printable) \(status)\(part) \(count) \(took) ms\(end)"
    }
}

extension String {
    fileprivate var printable: String {
        unicodeScalars.map { (0x21...0x7E).contains($0.value) ? String($0) : $0.escaped(asASCII: true) }.joined()
    }
}
