import Glibc

/// A failed system call: its name and errno.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the call, as of its manual page: "bind".
    public let call: String
    /// The value of errno, or of the call's own error number.
    public let code: Int32
    /// The system's message for the code.
    public let reason: String

    /// An error of `call` with the errno value `code`.
    public init(call: String, code: Int32) {
        self.call = call
        self.code = code
        reason = String(cString: strerror(code))
    }

    /// An error whose code isn't an errno value, such as one of getaddrinfo(3).
    package init(call: String, code: Int32, reason: String) {
        self.call = call
        self.code = code
        self.reason = reason
    }

    package static func last(_ call: String) -> SystemError { SystemError(call: call, code: errno) }

    /// For example "Address already in use (bind, errno 98)"; the codes of getaddrinfo(3), below 0, are no errno, and a
    /// library without codes has 0.
    public var description: String {
        code == 0 ? "\(reason) (\(call))" : "\(reason) (\(call), \(code < 0 ? "error" : "errno") \(code))"
    }

    /// The code of a time-out (ETIMEDOUT).
    public static let timedOut = ETIMEDOUT

    /// The error of a connect(2) that was given up.
    public static let connectTimeOut = SystemError(call: "connect", code: timedOut)

    /// The code for too many open files (EMFILE).
    public static let outOfDescriptors = EMFILE

    /// The code of a connection that the peer has reset.
    public static let connectionReset = ECONNRESET

    /// The code of a send to a peer that is gone.
    public static let brokenPipe = EPIPE

    /// Whether the event loop has been stopped.
    public var isStopped: Bool { code == ECANCELED }
    /// Whether another writer has locked the file.
    public var isLocked: Bool { call == "flock" && code == EWOULDBLOCK }
    /// Whether the reader is gone.
    public var isReaderGone: Bool { code == EPIPE }
    /// Whether the process or the system has run out of descriptors.
    public var isOutOfDescriptors: Bool { code == EMFILE || code == ENFILE }
    /// Whether the peer refuses connections.
    public var isRefused: Bool { code == ECONNREFUSED }
    /// Whether no route leads to the peer's network.
    public var isNetworkUnreachable: Bool { code == ENETUNREACH || code == ENETDOWN }
    /// Whether the server's backlog is full, which connect(2) reports for Unix-domain sockets only.
    public var isQueueFull: Bool { call == "connect" && code == EAGAIN }
    /// Whether the address is in use.
    public var isAddressInUse: Bool { code == EADDRINUSE }
    /// Whether this machine hasn't the address.
    public var isAddressElsewhere: Bool { code == EADDRNOTAVAIL }
    /// Whether the process may not do it.
    public var isDenied: Bool { code == EACCES }
}
