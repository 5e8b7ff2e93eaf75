import EventLoop
import Units

/// A call of a supervised program that waits for an answer.
package struct SupervisedCall: Hashable, Sendable {
    /// Which call it is.
    package enum Kind: Hashable, Sendable {
        case connect
        /// getpeername(2).
        case peerName
        /// getsockopt(2) of SO_ERROR.
        case pendingError
        /// One that fails with this errno value, as where the system hasn't got it.
        case unsupported(Int32)
        /// One that the filter only lets through for others of its kind.
        case other
    }

    /// The number of the call, which no other one has.
    package let id: UInt64
    package let kind: Kind
    /// The thread that waits.
    package let thread: Int32
    /// The descriptor that it has given.
    package let descriptor: Int32
    /// Where the thread has an address, or wants a value.
    let value: UInt64
    /// The length of the address, or where the thread has the value's length.
    let length: UInt64

    package init(
        id: UInt64,
        _ kind: Kind,
        thread: Int32,
        descriptor: Int32,
        value: UInt64 = 0,
        length: UInt64 = 0
    ) {
        (self.id, self.kind, self.thread, self.descriptor) = (id, kind, thread, descriptor)
        (self.value, self.length) = (value, length)
    }
}

/// How a call of a supervised program ends.
package enum CallAnswer: Hashable, Sendable {
    case success
    /// It fails with this errno value.
    case failure(Int32)
    /// The kernel makes it as if nobody had been asked.
    case kernel
}

/// The address that a connect is given.
package enum ConnectAddress: Hashable, Sendable {
    case target(SocketAddress)
    /// AF_UNSPEC, which ends the connect or the connection of a socket of TCP.
    case unspecified
    /// One of another family, or one that the kernel refuses.
    case other
}

/// What is known of a program's socket.
package struct SocketFacts: Hashable, Sendable {
    /// The states of a TCP socket that matter here.
    package enum State: Hashable, Sendable {
        case closed
        case connecting
        case other
    }

    /// The number of the socket, which no other one of the machine has.
    package var cookie: UInt64
    /// Whether it is one of TCP.
    package var isTCP: Bool
    /// Whether it is one of UDP.
    package var isUDP: Bool
    package var state: State
    /// Whether its calls wait.
    package var isBlocking: Bool
    /// The time limit of its connect (SO_SNDTIMEO, socket(7)); `nil` for none.
    package var timeLimit: Duration?
    /// Whether it can't reach this machine's loopback: it is bound to another interface, or of another network namespace.
    package var isElsewhere: Bool

    package init(
        cookie: UInt64,
        isTCP: Bool = true,
        isUDP: Bool = false,
        state: State = .closed,
        isBlocking: Bool = true,
        timeLimit: Duration? = nil,
        isElsewhere: Bool = false
    ) {
        (self.cookie, self.isTCP, self.isUDP, self.state) = (cookie, isTCP, isUDP, state)
        (self.isBlocking, self.timeLimit, self.isElsewhere) = (isBlocking, timeLimit, isElsewhere)
    }
}

/// How the proxy's connection to a target has ended up.
package enum DialOutcome: Hashable, Sendable {
    /// The program's socket is connected.
    case connected
    /// It can't be connected, for this errno value.
    case failed(Int32)
    /// A fault has the program see a connection that ends at once.
    case closed
}

/// What a supervisor asks of the system: of Linux, or of a simulation.
///
/// Processes, sockets and dials are numbers. The supervisor gives back every socket and process with `close`.
package protocol SupervisorSystem: AnyObject {
    /// Answers a call. Returns whether its thread was still waiting.
    @discardableResult func answer(_ id: UInt64, _ answer: CallAnswer) -> Bool
    /// Has the kernel make a connect of TCP past the proxy.
    func pass(_ call: SupervisedCall)
    /// Whether the thread still waits for an answer.
    func isWaiting(_ id: UInt64) -> Bool
    /// Whether signals of a thread wait for the answer of its call.
    var holdsSignals: Bool { get }
    /// Whether a signal has come that a thread takes, which waits in `call`, or something else stops it there.
    func hasSignal(_ thread: Int32, in call: UInt64) -> Bool
    /// Whether a thread whose call was left to the kernel runs, and may not have begun it. One that waits has begun it, or
    /// another one.
    func isRunning(_ thread: Int32) -> Bool
    /// The address of a connect. A failure is that the program's memory may not be read.
    func address(of call: SupervisedCall) -> Result<ConnectAddress, SystemFailure>
    /// The process of a call, until `release`.
    func process(of call: SupervisedCall) -> Result<Int32, SystemFailure>
    func release(_ process: Int32)
    /// The socket that a thread has under a descriptor; with `isShared` also when it has ended, and others of its process live.
    /// A failure is EBADF where the kernel says what is wrong, EPROTOTYPE for one that isn't of TCP, and EXDEV for one of another
    /// network namespace; these two where the socket can't be had.
    func socket(_ descriptor: Int32, of process: Int32, isShared: Bool) -> Result<Int32, SystemFailure>
    func facts(of socket: Int32) -> SocketFacts
    /// The socket's own address, which is a wildcard while it has none.
    func ownAddress(of socket: Int32) -> SocketAddress?
    /// Whether the descriptor of a call blocks, also where its socket can't be had; `true` if that can't be told.
    func isBlocking(_ call: SupervisedCall) -> Bool
    /// The error that a socket would tell next (SO_ERROR), which it forgets; 0 for none.
    func takeError(of socket: Int32) -> Int32
    /// Whether a socket with a cookie and the address `local` is connecting, or connected where its dial hasn't ended yet, whoever
    /// has it under whatever descriptor.
    func isConnecting(_ cookie: UInt64, at local: SocketAddress) -> Bool
    /// Has a socket connect to a listener that never answers; returns the socket's own address. A failure is what the kernel
    /// says to the program.
    func beginConnecting(
        _ socket: Int32,
        isBlocking: Bool,
        to target: SocketAddress
    ) -> Result<SocketAddress, SystemFailure>
    /// Has a socket that is connected know that its connect has ended: the next one fails with EISCONN. Returns the errno value of
    /// a connection that has just been lost, or 0.
    func finishConnecting(_ socket: Int32) -> Int32
    /// Takes a socket that is connecting back to where it was before.
    func stopConnecting(_ socket: Int32)
    /// Has a socket that is connecting be refused.
    func refuse(_ socket: Int32)
    /// Has the socket that is connecting for a dial be connected, and its connection ended: with `resets` by RST, else by FIN.
    /// Returns whether it was connected.
    @discardableResult func connectAndEnd(_ local: SocketAddress, of dial: UInt64, resets: Bool) -> Bool
    /// Makes a dial to a target for the socket with the address `local`, of the thread of a call in `process` that `blocks` or
    /// is polled; returns its number.
    func dial(
        _ target: SocketAddress,
        for local: SocketAddress,
        of call: SupervisedCall,
        in process: Int32,
        blocks: Bool
    ) -> Result<UInt64, SystemFailure>
    /// Has the proxy connect to the target of a dial, which may end at once.
    func begin(_ dial: UInt64)
    /// Gives up a dial whose socket is gone.
    func cancel(_ dial: UInt64)
    /// Writes an error, which a program has asked for.
    func tell(_ error: Int32, to call: SupervisedCall) -> Bool
    /// Writes the target of a socket that the proxy has connected; `false` if it hasn't.
    func tellTarget(of socket: Int32, to call: SupervisedCall) -> Bool
    func close(_ descriptor: Int32)
    /// Tells the user, once, what isn't redirected.
    func note(_ notice: SupervisorNotice)
}

extension SupervisorSystem {
    package func pass(_ call: SupervisedCall) { answer(call.id, .kernel) }
}

/// An errno value.
package struct SystemFailure: Error, Hashable, Sendable {
    package let code: Int32
    package init(code: Int32) { self.code = code }
}

/// What a user has to know of connections that aren't redirected.
public enum SupervisorNotice: Hashable, Sendable {
    /// A program has connected a UDP socket to port 443: HTTP/3 passes untouched. Sockets that block are left out: they look
    /// up addresses (RFC 6724, section 5, needs the source address of each), and send nothing.
    case http3
    /// A connection couldn't be redirected.
    case unproxied(Obstacle)
    /// As many connections are being made as are kept track of.
    case full

    /// Why a connection couldn't be redirected.
    public enum Obstacle: Hashable, Sendable {
        /// The program's sockets or its memory can't be had, for this errno value.
        case program(Int32)
        /// The socket can't reach the loopback of this machine: it is bound to another interface, or of another network
        /// namespace.
        case network
        /// No address is left for the socket.
        case address
    }
}

extension SocketAddress {
    /// The address that a connect to this one reaches from a socket whose own address is `own`: that of the machine itself for the
    /// unspecified one (RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.2), or the socket's with IPv4.
    func reached(from own: SocketAddress?) -> SocketAddress {
        guard canonical.isWildcard else { return self }
        guard let own = own?.canonical.with(port: port), !own.isIPv6, !own.isWildcard else { return loopback }
        // From an address of IPv4, :: is 127.0.0.1.
        let address = canonical.isIPv6 ? own.loopback : own
        return isIPv6 ? address.mapped : address
    }
}
