/// A failure of TLS.
public struct TLSFailure: Error, Hashable, Sendable {
    /// The kinds of failure.
    public enum Kind: Hashable, Sendable {
        /// The server's certificate isn't signed by a trusted authority, or has expired.
        case untrusted
        /// The server's certificate is for other host names.
        case hostnameMismatch
        /// The host's name is none that the library verifies.
        case invalidName
        /// The server requires a client certificate, or rejects the one it got.
        case clientCertificate
        /// The peer rejected the handshake: no common version or cipher, or, before TLS 1.3, a missing client
        /// certificate.
        case handshakeRefused
        /// The stream ended without a `close_notify`, so its end may be a truncation (RFC 8446, section 6.1).
        case truncated
        /// Anything else, such as corrupted records or a server without TLS.
        case protocolError
        /// This build has no TLS.
        case unavailable
    }

    /// The kind of failure.
    public let kind: Kind
    /// The library's reason, such as `WRONG_VERSION_NUMBER`; empty if there is none.
    public let reason: String

    /// Whether a new connection would fail the same way.
    public var isFinal: Bool {
        switch kind {
        case .untrusted, .hostnameMismatch, .invalidName, .clientCertificate, .handshakeRefused, .unavailable: true
        case .truncated, .protocolError: false
        }
    }

    /// Makes a failure.
    public init(kind: Kind, reason: String) {
        self.kind = kind
        self.reason = reason
    }
}

extension TLSFailure {
    /// Reads an error of a channel; `nil` if it isn't from TLS.
    public init?(_ error: any Error) {
        switch error {
        case let error as TLSFailure: self = error
        case let error as any TLSFailureConvertible: self = error.tlsFailure
        default: return nil
        }
    }
}

/// An error of a TLS library that says which failure it is.
public protocol TLSFailureConvertible: Error {
    /// The failure.
    var tlsFailure: TLSFailure { get }
}

extension TLSFailure: CustomStringConvertible {
    /// The failure as a clause.
    public var description: String {
        switch kind {
        case .untrusted: "the server's certificate isn't signed by an authority that is trusted here, or is out of date"
        case .hostnameMismatch: "the server's certificate is for another name"
        case .invalidName:
            "no certificate is verified for such a name of a host: it has letters, digits, “-” and “.” alone, at most 255"
        case .clientCertificate: "the server refuses the client's certificate, or its absence (\(reason))"
        case .handshakeRefused:
            "the server refuses the handshake: for its versions and ciphers, or for want of a certificate (\(reason))"
        case .truncated: "it was closed without the end that TLS has"
        case .unavailable: "this build has no TLS"
        case .protocolError where reason == "WRONG_VERSION_NUMBER":
            "what came isn't TLS (\(reason)): is this a port with TLS?"
        case .protocolError: reason.isEmpty ? "TLS failed" : "TLS failed: \(reason)"
        }
    }
}
