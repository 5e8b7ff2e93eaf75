import DevelopmentCA
import OriginServer
import TLSTransport

/// Common setup of the HTTP/2 suites.
enum SecureOrigin {
    /// One authority for all tests, since making one is slow.
    private static let shared = Result { () throws in
        let authority = try DevelopmentCA()
        return (authority, try TLSServer(TLSIdentity(authority.identity(for: ["127.0.0.1"]))))
    }

    /// Runs a server over TLS; `body` also gets the authority to trust.
    static func with<Result: Sendable>(
        _ files: [String: [UInt8]] = ["file.bin": TestOrigin.content],
        limits: OriginLimits = .patient,
        takesUploads: Bool = false,
        _ body: (TestOrigin, DevelopmentCA) async throws -> Result
    ) async throws -> Result {
        let (authority, tls) = try shared.get()
        return try await TestOrigin.with(files, limits: limits, tls: tls, takesUploads: takesUploads) {
            try await body($0, authority)
        }
    }

    /// The same, with an HTTP/2 connection.
    static func withPeer<Result: Sendable>(
        _ files: [String: [UInt8]] = ["file.bin": TestOrigin.content],
        limits: OriginLimits = .patient,
        takesUploads: Bool = false,
        acknowledgesSettings: Bool = true,
        _ body: (inout HTTP2Peer, TestOrigin) async throws -> Result
    ) async throws -> Result {
        try await with(files, limits: limits, takesUploads: takesUploads) { origin, authority in
            let port = origin.server.address.port
            return try await HTTP2Peer.with(
                port: port,
                trusting: authority,
                acknowledgesSettings: acknowledgesSettings
            ) {
                try await body(&$0, origin)
            }
        }
    }
}
