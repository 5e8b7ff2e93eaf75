/// Why an HTTP/2 request failed. The description is a clause.
public struct HTTP2Failure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the failure says about the request.
    public enum Kind: Hashable, Sendable {
        /// REFUSED_STREAM, or GOAWAY below the stream's ID: the server hasn't processed the request (RFC 9113, section
        /// 8.7).
        case streamRefused
        /// HTTP_1_1_REQUIRED: the request must be sent over HTTP/1.1 (section 7).
        case http1Required
        /// No conclusion.
        case other
    }

    /// The failure as a clause.
    public let description: String
    /// What the failure says about the request.
    public let kind: Kind

    /// Makes a failure.
    public init(_ description: String, kind: Kind) {
        self.description = description
        self.kind = kind
    }

    /// Reads an error of a channel; `nil` if it isn't from HTTP/2.
    public init?(_ error: any Error) {
        switch error {
        case let error as HTTP2Failure: self = error
        case let error as any HTTP2FailureConvertible: self = error.http2Failure
        default: return nil
        }
    }
}

/// An error of an HTTP/2 library that says which failure it is.
public protocol HTTP2FailureConvertible: Error {
    /// The failure.
    var http2Failure: HTTP2Failure { get }
}
