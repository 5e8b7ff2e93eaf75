import HTTPSemantics
import TransferProtocol

/// What became of one request: a line of the request log.
public struct RequestRecord: Hashable, Sendable {
    /// How the answer ended.
    public enum Ending: String, Hashable, Sendable {
        /// The system took all of it.
        case complete
        /// The connection broke, or was closed by a time-out or a shutdown, before the end.
        case disconnected
        /// The file changed or could not be read while it was being sent, and the connection was closed for it.
        case fileChanged = "file-changed"
    }

    /// The method as it was sent; `-` when the request couldn't be read.
    public let method: String
    /// The request target as it was sent, query included; `-` when the request couldn't be read. Not to be trusted:
    /// it may hold any bytes but blanks.
    public let target: String
    /// The status of the answer, from 200 to 599; 0 when an upload got none.
    public let status: Int
    /// The part that was asked for and granted, when the status is 206; the length, when it is 416.
    public let range: ContentRange?
    /// Bytes of content that were handed to the system; the head isn't counted.
    public let bytesSent: Int64
    /// Bytes of the request's content that were received, when it was an upload.
    public let bytesReceived: Int64
    /// From the end of the request to the end of the answer; of an upload, from the head of the request.
    public let duration: Duration
    /// How the answer ended.
    public let ending: Ending
}

extension RequestRecord: CustomStringConvertible {
    /// One line, with everything but printable ASCII in the request escaped.
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
