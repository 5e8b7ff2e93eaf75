import EventLoop
import OperatingSystem
import Units

/// The listening sockets of a proxy: one for each address of the name that it listens on, all with the same port.
///
/// They are watched, suspended and resumed together. A socket's tag is its index.
final class ListeningSockets {
    /// An address that can't be bound.
    struct Failure: Error {
        let address: SocketAddress
        let error: SystemError
    }

    /// The attempts to find a port that is free at every address: 16.
    private static let attempts = 16

    private let sockets: [ListeningSocket]

    /// Listens on every one of `wanted`. For port 0, the first address gets a free port, and the others the same. An
    /// address of a family that the machine has switched off is left out unless it is the only one.
    ///
    /// - Throws: the first failure; no socket is left open then.
    init(
        _ wanted: [SocketAddress],
        permissions: SocketPermissions,
        on loop: EventLoop,
        handler: LoopHandler
    ) throws(Failure) {
        var attempts = ListeningSockets.attempts
        while true {
            do throws(Failure) {
                sockets = try ListeningSockets.opened(wanted, permissions, on: loop, handler)
                return
            } catch {
                attempts -= 1
                // The port that the kernel chose for the first address may be taken at another.
                let mayFindAnother = wanted.count > 1 && error.address.port != 0 && wanted[0].port == 0
                guard mayFindAnother, error.error.isAddressInUse, attempts > 0 else { throw error }
            }
        }
    }

    private static func opened(
        _ wanted: [SocketAddress],
        _ permissions: SocketPermissions,
        on loop: EventLoop,
        _ handler: LoopHandler
    ) throws(Failure) -> [ListeningSocket] {
        var sockets: [ListeningSocket] = []
        var missing: Failure?
        for address in wanted {
            let port = address.port == 0 ? sockets.first?.address.port ?? 0 : address.port
            let address = address.with(port: port)
            do throws(SystemError) {
                sockets.append(
                    try ListeningSocket(
                        address,
                        permissions: permissions,
                        on: loop,
                        handler: handler,
                        tag: sockets.count
                    )
                )
            } catch {
                let failure = Failure(address: address, error: error)
                guard error.isFamilyMissing(for: address) else {
                    for socket in sockets { socket.close() }
                    throw failure
                }
                missing = missing ?? failure
            }
        }
        if let missing, sockets.isEmpty { throw missing }
        return sockets
    }

    /// The addresses that the sockets are bound to, with the port that the system chose for port 0.
    var addresses: [SocketAddress] { sockets.map(\.address) }

    /// The next connection that waits at the socket with this tag.
    func accept(_ tag: Int) -> ListeningSocket.AcceptResult { sockets[tag].accept() }

    /// Watches for connections again.
    func watch() { for socket in sockets { socket.watch() } }

    /// Stops watching; connections wait in the kernel's queue.
    func unwatch() { for socket in sockets { socket.unwatch() } }

    /// Refuses connections and keeps the port.
    func suspend() { for socket in sockets { socket.suspend() } }

    /// Leaves connections without an answer; `false` where the system can't, for one of them or more.
    func stopAnswering() -> Bool {
        var isUnanswering = true
        for socket in sockets where !socket.stopAnswering() { isUnanswering = false }
        return isUnanswering
    }

    /// Accepts connections again after `suspend` or `stopAnswering`; see `ListeningSocket.resume`. A call after an error
    /// resumes the remaining sockets.
    func resume(answering: Bool) throws(SystemError) {
        for socket in sockets { try socket.resume(answering: answering) }
    }

    /// Closes the sockets; `loop` releases them after its turn.
    func close(on loop: EventLoop) {
        for socket in sockets {
            socket.close()
            loop.deferRelease(socket)
        }
    }
}
