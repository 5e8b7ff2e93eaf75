import CSeccomp
import EventLoop
import Glibc
import OperatingSystem
import Synchronization
import Units

/// The supervisor's thread, and Linux as it sees it.
final class LinuxSupervisor: SupervisorSystem, @unchecked Sendable {
    /// The error of a connect to `ForegroundCommand.testAddress` if connections can be redirected: ESHUTDOWN.
    static let works = ESHUTDOWN

    private let supervisor: Int32
    private let rendezvous: Rendezvous
    private let proxy: SocketAddress
    private let poller: Int32
    /// Readable when the thread has to end.
    private let end: Int32
    private let tell: @Sendable (SupervisorNotice) -> Void
    /// The dials by number. The numbers below `firstDial` stand for other descriptors in the poller.
    private var dials: [UInt64: ProxyDial] = [:]
    private var lastDial = LinuxSupervisor.firstDial
    private static let firstDial: UInt64 = 2
    private var isTested = false
    private var told: Set<SupervisorNotice> = []

    /// A supervisor of the threads that `supervisor`, a descriptor of squall_supervise_connects, is for.
    init(
        _ supervisor: Int32,
        _ rendezvous: Rendezvous,
        proxy: SocketAddress,
        tell: @escaping @Sendable (SupervisorNotice) -> Void
    ) throws(SystemError) {
        (self.supervisor, self.rendezvous, self.proxy, self.tell) = (supervisor, rendezvous, proxy, tell)
        poller = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard poller >= 0 else { throw .last("epoll_create1") }
        end = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard end >= 0 else { throw .last("eventfd") }
        watch(supervisor, 0, EPOLLIN.rawValue)
        watch(end, 1, EPOLLIN.rawValue)
    }

    deinit {
        for dial in dials.values { Glibc.close(dial.descriptor) }
        for descriptor in [poller, end, supervisor] where descriptor >= 0 { Glibc.close(descriptor) }
    }

    private func watch(_ descriptor: Int32, _ number: UInt64, _ events: UInt32) {
        var event = epoll_event(events: events, data: epoll_data_t(u64: number))
        epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event)
    }

    /// Has `run` return.
    func stop() { eventfd_write(end, 1) }

    /// Serves calls until `stop`.
    func run(_ core: ConnectSupervisor) {
        var events = [epoll_event](repeating: epoll_event(), count: 64)
        while true {
            let look = core.nextLook(after: MonotonicClock.now)
            let wait =
                look == .distantFuture ? -1 : max(0, ((look - MonotonicClock.now).nanoseconds + 999_999) / 1_000_000)
            let count = epoll_wait(poller, &events, Int32(events.count), Int32(clamping: wait))
            let now = MonotonicClock.now
            for event in events.prefix(Int(max(0, count))) {
                switch event.data.u64 {
                case 0: serve(core, at: now)
                case 1: return
                case let number: advance(number, core)
                }
            }
            if now >= look { core.look(at: now) }
        }
    }

    /// Takes the next call.
    private func serve(_ core: ConnectSupervisor, at now: Moment) {
        var call = squall_call()
        guard squall_next_call(supervisor, &call) == 0 else { return }
        let kind: SupervisedCall.Kind =
            switch Int(call.kind) {
            case squall_call_connect: .connect
            case squall_call_peer_name: .peerName
            case squall_call_pending_error: .pendingError
            default: .other
            }
        let next = SupervisedCall(
            id: call.id,
            kind,
            thread: call.thread,
            descriptor: call.descriptor,
            value: call.value,
            length: call.length
        )
        if !isTested, kind == .connect { return test(next) }
        core.receive(next, at: now)
    }

    /// Answers the first connect of all, that of the guard: whether its socket can be had.
    private func test(_ call: SupervisedCall) {
        isTested = true
        let code: Int32
        do throws(SystemFailure) {
            guard address(of: call)?.host == ForegroundCommand.testAddress else { throw SystemFailure(code: EFAULT) }
            let process = try process(of: call).get()
            defer { close(process) }
            close(try socket(call.descriptor, of: process).get())
            code = LinuxSupervisor.works
        } catch {
            code = error.code
        }
        answer(call.id, .failure(code))
    }

    private func advance(_ number: UInt64, _ core: ConnectSupervisor) {
        guard var dial = dials[number] else { return }
        let port = dial.port
        let outcome = dial.advance { rendezvous.end(port) }
        dials[number] = dial
        guard let outcome else { return }
        cancel(number)
        core.dialEnded(number, outcome)
    }

    // MARK: The system

    func answer(_ id: UInt64, _ answer: CallAnswer) {
        switch answer {
        case .success: squall_answer(supervisor, id, 0)
        case .failure(let code): squall_answer(supervisor, id, code)
        case .kernel: squall_answer(supervisor, id, -1)
        }
    }

    func isWaiting(_ id: UInt64) -> Bool { squall_is_waiting(supervisor, id) != 0 }

    func address(of call: SupervisedCall) -> SocketAddress? {
        var storage = sockaddr_storage()
        let size = min(Int(clamping: call.length), MemoryLayout<sockaddr_storage>.size)
        guard size >= MemoryLayout<sockaddr_in>.size,
            squall_read_memory(call.thread, call.value, &storage, size) == size,
            // Another thread of another program may have the same number by now.
            isWaiting(call.id),
            Int32(storage.ss_family) != AF_INET6 || size >= 24
        else { return nil }
        return withUnsafePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { SocketAddress($0) }
        }
    }

    func process(of call: SupervisedCall) -> Result<Int32, SystemFailure> { result(squall_open_process(call.thread)) }

    func socket(_ descriptor: Int32, of process: Int32) -> Result<Int32, SystemFailure> {
        result(squall_duplicate(process, descriptor))
    }

    private func result(_ descriptor: Int32) -> Result<Int32, SystemFailure> {
        descriptor < 0 ? .failure(SystemFailure(code: -descriptor)) : .success(descriptor)
    }

    func facts(of socket: Int32) -> SocketFacts {
        let transport = option(SO_PROTOCOL, of: socket)
        guard transport == Int32(IPPROTO_TCP) else {
            return SocketFacts(cookie: 0, isTCP: false, isUDP: transport == Int32(IPPROTO_UDP), state: .other)
        }
        let isBlocking = fcntl(socket, F_GETFL) & O_NONBLOCK == 0
        return SocketFacts(
            cookie: squall_socket_cookie(socket),
            state: state(of: socket),
            isBlocking: isBlocking,
            timeLimit: isBlocking ? timeLimit(of: socket) : nil
        )
    }

    private func timeLimit(of socket: Int32) -> Duration? {
        var limit = timeval()
        var size = socklen_t(MemoryLayout<timeval>.size)
        getsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, &size)
        guard limit.tv_sec != 0 || limit.tv_usec != 0 else { return nil }
        return .seconds(limit.tv_sec) + .microseconds(Int(limit.tv_usec))
    }

    private func option(_ name: Int32, of socket: Int32) -> Int32 {
        var value: Int32 = -1
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(socket, SOL_SOCKET, name, &value, &size)
        return value
    }

    /// The state of tcp(7), which is the first byte of what TCP_INFO tells.
    private func state(of socket: Int32) -> SocketFacts.State {
        var information = [UInt8](repeating: 0, count: 8)
        var size = socklen_t(information.count)
        guard getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, &information, &size) == 0 else { return .other }
        return switch information[0] {
        case 2, 3: .connecting
        case 7: .closed
        default: .other
        }
    }

    func beginConnecting(_ socket: Int32, to target: SocketAddress) -> Result<SocketAddress, SystemFailure> {
        let isMapped = target.isIPv6 && target.host.hasPrefix("::ffff:")
        let family = isMapped ? target.canonical : target
        guard let listener = rendezvous.listener(for: family) else {
            return .failure(SystemFailure(code: EADDRNOTAVAIL))
        }
        let address = isMapped ? listener.mapped : listener
        let flags = fcntl(socket, F_GETFL)
        // Else this thread would wait.
        if flags & O_NONBLOCK == 0 { _ = fcntl(socket, F_SETFL, flags | O_NONBLOCK) }
        let result = address.withSystemAddress { Glibc.connect(socket, $0, $1) }
        let code = errno
        if flags & O_NONBLOCK == 0 { _ = fcntl(socket, F_SETFL, flags) }
        guard result != 0, code == EINPROGRESS else {
            return .failure(SystemFailure(code: result == 0 ? EISCONN : code))
        }
        guard let local = try? SocketAddress.bound(to: socket) else { return .failure(SystemFailure(code: errno)) }
        return .success(local.canonical)
    }

    func stopConnecting(_ socket: Int32) {
        var none = sockaddr()
        none.sa_family = sa_family_t(AF_UNSPEC)
        Glibc.connect(socket, &none, socklen_t(MemoryLayout<sockaddr>.size))
        // The error that the connect has ended with.
        _ = option(SO_ERROR, of: socket)
    }

    func refuse(_ socket: Int32) {
        let isIPv6 = option(SO_DOMAIN, of: socket) == AF_INET6
        let local = try? SocketAddress.bound(to: socket)
        var address = rendezvous.closedAddress(isIPv6: local?.canonical.isIPv6 ?? false)
        if isIPv6, !address.isIPv6 { address = address.mapped }
        var none = sockaddr()
        none.sa_family = sa_family_t(AF_UNSPEC)
        Glibc.connect(socket, &none, socklen_t(MemoryLayout<sockaddr>.size))
        _ = address.withSystemAddress { Glibc.connect(socket, $0, $1) }
    }

    func connectAndEnd(_ local: SocketAddress) {
        let socket = rendezvous.connect(to: local)
        if socket >= 0 { Glibc.close(socket) }
    }

    func dial(_ target: SocketAddress, for local: SocketAddress) -> Result<UInt64, SystemFailure> {
        do throws(SystemError) {
            let dial = try ProxyDial(target.canonical, by: proxy)
            rendezvous.await(dial.port, for: local, to: target)
            lastDial += 1
            dials[lastDial] = dial
            watch(dial.descriptor, lastDial, EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLET.rawValue)
            return .success(lastDial)
        } catch {
            return .failure(SystemFailure(code: error.code))
        }
    }

    func cancel(_ number: UInt64) {
        guard let dial = dials.removeValue(forKey: number) else { return }
        _ = rendezvous.end(dial.port)
        Glibc.close(dial.descriptor)
    }

    func tell(_ error: Int32, to call: SupervisedCall, of socket: Int32) -> Bool {
        var (error, size) = (error, Int32(MemoryLayout<Int32>.size))
        guard squall_write_memory(call.thread, call.value, &error, 4) == 4,
            squall_write_memory(call.thread, call.length, &size, 4) == 4
        else { return false }
        _ = option(SO_ERROR, of: socket)
        return true
    }

    func tellTarget(of socket: Int32, to call: SupervisedCall) -> Bool {
        guard let peer = SocketAddress.peer(of: socket), let local = try? SocketAddress.bound(to: socket),
            let target = rendezvous.target(of: local.canonical, peer: peer.canonical)
        else { return false }
        var room: Int32 = 0
        guard squall_read_memory(call.thread, call.length, &room, 4) == 4, room >= 0, isWaiting(call.id) else {
            return false
        }
        return target.withSystemAddress { address, size in
            let count = min(Int(room), Int(size))
            var whole = Int32(size)
            return squall_write_memory(call.thread, call.value, address, count) == count
                && squall_write_memory(call.thread, call.length, &whole, 4) == 4
        }
    }

    func close(_ descriptor: Int32) { Glibc.close(descriptor) }

    func note(_ notice: SupervisorNotice) {
        if told.insert(notice).inserted { tell(notice) }
    }
}

extension SocketAddress {
    /// An address of IPv4 as one of IPv6 (RFC 4291, section 2.5.5.2).
    fileprivate var mapped: SocketAddress {
        SocketAddress(numericHost: "::ffff:\(host)", port: port) ?? self
    }
}
