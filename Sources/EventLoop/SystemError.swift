import Glibc

/// A call into the system that failed: which call, and errno.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The call, as its manual page is named: "bind".
    public let call: String
    /// The value of errno, or of the call's own error number.
    public let code: Int32
    /// What the system says of the code.
    public let reason: String

    /// An error of `call` with the errno value `code`.
    public init(call: String, code: Int32) {
        self.call = call
        self.code = code
        reason = String(cString: strerror(code))
    }

    /// An error whose code isn't an errno value, such as one of getaddrinfo(3).
    init(call: String, code: Int32, reason: String) {
        self.call = call
        self.code = code
        self.reason = reason
    }

    /// The error that errno describes now.
    static func last(_ call: String) -> SystemError { SystemError(call: call, code: errno) }

    /// For example "Address already in use (bind, errno 98)"; the codes of getaddrinfo(3), below 0, are no errno.
    public var description: String { "\(reason) (\(call), \(code < 0 ? "error" : "errno") \(code))" }

    /// The code of a call that took too long (ETIMEDOUT).
    public static let timedOut = ETIMEDOUT

    /// The code of a call that found no descriptor free (EMFILE).
    public static let outOfDescriptors = EMFILE

    /// Whether the event loop that was asked has been stopped.
    public var isStopped: Bool { code == ECANCELED }
    /// Whether somebody else writes the file.
    public var isLocked: Bool { call == "flock" && code == EWOULDBLOCK }
    /// Whether nobody reads any more what is written.
    public var isReaderGone: Bool { code == EPIPE }
    /// Whether the process, or the system, has no descriptor left.
    public var isOutOfDescriptors: Bool { code == EMFILE || code == ENFILE }
    /// Whether the server's queue of connections is full, which connect(2) tells of Unix-domain sockets alone.
    public var isQueueFull: Bool { call == "connect" && code == EAGAIN }
    /// Whether a bind to `address` failed because the machine has switched its family off: no socket of the family, or no
    /// loopback address.
    public func isFamilyMissing(for address: SocketAddress) -> Bool {
        code == EAFNOSUPPORT || code == EADDRNOTAVAIL && address.isLoopback
    }
    /// Whether another socket has the address already.
    public var isAddressInUse: Bool { code == EADDRINUSE }
}
