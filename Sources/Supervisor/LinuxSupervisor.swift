import CSeccomp
import EventLoop
import FaultProfile
import Glibc
import Journal
import OperatingSystem
import ProxyEngine
import Units

/// A supervisor on the loop at which its proxy admits clients, and Linux as it sees it.
///
/// The loop serves calls between two turns of others: nothing here waits.
final class LinuxSupervisor: LoopHandler, SupervisorSystem {
    /// The calls that are served in one turn of the loop, at most. What connects first waits for the dials of its turn: with 8
    /// p99 of 64 threads is a sixth lower than with 64, and as many connect in a second.
    private static let batch = 8
    /// How long the loop waits for a connection that is ended at once: 12 ms. Nearly all are there at the first look.
    private static let endPatience = 12
    /// The number of the interface lo in every network namespace.
    private static let loopback: Int32 = 1

    private let supervisor: Int32
    let holdsSignals: Bool
    private let rendezvous: Rendezvous
    /// The proxy of new connections.
    var proxy: Proxy
    private let loop: EventLoop
    private let rules: SupervisionRules
    private lazy var core = makeCore()
    private var source: EventSource?
    private lazy var timer = LoopTimer(loop: loop, handler: self, tag: 0, isCoarse: true)
    /// A connection that the proxy makes.
    private struct Dial {
        let client: LocalClient
        /// The address of the program's socket.
        let local: SocketAddress
        let process: Int32
        let blocks: Bool
        /// The number of the program's socket among those that this process supplies.
        let supplied: UInt64?
    }

    private var dials: [UInt64: Dial] = [:]
    private var lastDial: UInt64 = 0
    private var isTested = false
    private var told: Set<SupervisorNotice> = []
    /// The programs' sockets, where they can't be duplicated.
    private let supplied: SuppliedSockets?
    private let processes: ProcessDescriptors

    /// A supervisor of the threads that `supervisor`, a descriptor of squall_supervise_connects, is for. It takes the
    /// descriptor over. With `suppliesSockets` the descriptor was made so, and with `holdsSignals` it came so.
    init(
        _ supervisor: Int32,
        suppliesSockets: Bool,
        holdsSignals: Bool,
        _ rendezvous: Rendezvous,
        of proxy: Proxy,
        _ rules: SupervisionRules
    ) {
        (self.supervisor, self.rendezvous, self.proxy, self.rules) = (supervisor, rendezvous, proxy, rules)
        self.holdsSignals = holdsSignals
        supplied = suppliesSockets ? SuppliedSockets { rendezvous.isConnected(.max, at: $0) } : nil
        processes = ProcessDescriptors(supplied)
        loop = proxy.admissionLoop
        super.init()
        source = EventSource(readable: supervisor, on: loop) { [unowned self] in serve() }
    }

    private func makeCore() -> ConnectSupervisor {
        ConnectSupervisor(self, allowsUnproxied: rules.allowsUnproxied) { [rules] in rules.isWanted($0.canonical) }
    }

    /// Serves no call any more.
    func close() {
        source?.cancel()
        source = nil
        timer.cancel()
        for dial in dials.values { dial.client.cancel() }
        dials = [:]
        core.close()
        Glibc.close(supervisor)
    }

    override func timerFired(_ tag: Int) {
        var isClosed = false
        if let supplied, loop.now >= supplied.nextLook { isClosed = supplied.look(at: loop.now) }
        // The connect of a socket that is closed is over.
        if isClosed || loop.now >= core.nextLook { core.look(at: loop.now) }
        if loop.now >= core.nextLookForSignals { core.lookForSignals(at: loop.now) }
        if loop.now >= core.nextLookForThreads { core.lookForThreads(at: loop.now) }
        setTimer()
    }

    private func setTimer() {
        let threads = min(core.nextLookForSignals, core.nextLookForThreads)
        let look = min(core.nextLook, threads, supplied?.nextLook ?? .distantFuture)
        if look < .distantFuture { timer.set(to: look) } else { timer.cancel() }
    }

    /// Takes the calls that wait.
    private func serve() {
        for _ in 0..<LinuxSupervisor.batch {
            var entry = pollfd(fd: supervisor, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 0) == 1 else { break }
            guard entry.revents & Int16(POLLIN) != 0 else {
                // The last process is gone.
                source?.cancel()
                break
            }
            serveNext()
        }
        setTimer()
    }

    /// Takes the next call.
    private func serveNext() {
        var call = squall_call()
        guard squall_next_call(supervisor, &call) == 0 else { return }
        switch Int(call.kind) {
        case squall_call_socket:
            return supply(call)
        case squall_call_bind:
            return bind(call)
        case squall_call_listen:
            letGo(call.descriptor, of: call.thread)
            answer(call.id, .kernel)
            return
        default:
            break
        }
        let kind: SupervisedCall.Kind =
            switch Int(call.kind) {
            case squall_call_connect: .connect
            case squall_call_peer_name: .peerName
            case squall_call_pending_error: .pendingError
            case squall_call_unsupported: .unsupported(call.error)
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
        if kind == .peerName, let target = suppliedTarget(of: call) {
            answer(call.id, tell(target, to: next) ? .success : .kernel)
            return
        }
        core.receive(next, at: loop.now)
    }

    /// The target of a connected socket that isn't kept any more.
    private func suppliedTarget(of call: squall_call) -> SocketAddress? {
        guard let supplied, let number = supplied.number(call.descriptor, of: call.thread) else { return nil }
        return supplied.target(of: number)
    }

    /// Makes the socket that a program asks for, which can't be duplicated later.
    private func supply(_ call: squall_call) {
        let type = Int32(truncatingIfNeeded: call.value)
        let protocolNumber = Int32(truncatingIfNeeded: call.length)
        // One of another network is the kernel's, and fails when it connects.
        guard let supplied, protocolNumber == 0 || protocolNumber == Int32(IPPROTO_TCP),
            !supplied.isElsewhere(call.thread)
        else {
            answer(call.id, .kernel)
            return
        }
        let closesOnExec: Int32 = type & Int32(SOCK_CLOEXEC.rawValue) == 0 ? 0 : 1
        let (supervisor, id, me) = (supervisor, call.id, LoopBound(self, on: loop))
        let code = supplied.supply(
            call.descriptor,
            type,
            protocolNumber,
            for: call.thread,
            at: loop.now,
            give: { squall_give(supervisor, id, $0, closesOnExec) },
            given: { number, result in
                me.loop.postBeyondLimit { me.value.given(number, as: result, to: id) }
            }
        )
        if code == -ENFILE { note(.full) }
        if code < 0 { answer(call.id, .failure(-code)) }
    }

    private func given(_ number: UInt64, as result: Int32, to call: UInt64) {
        supplied?.noteGiven(number, as: result)
        if result < 0 { answer(call, .failure(-result)) }
    }

    /// A program gives a socket an address.
    private func bind(_ call: squall_call) {
        var address: (family: sa_family_t, port: UInt16) = (0, 0)
        guard let supplied, squall_read_memory(call.thread, call.value, &address, 4) == 4,
            [AF_INET, AF_INET6].contains(Int32(address.family))
        else {
            answer(call.id, .kernel)
            return
        }
        let closed = supplied.noteBinding(call.descriptor, of: call.thread, hasPort: address.port != 0)
        let (supervisor, id) = (supervisor, call.id)
        supplied.whenClosed(closed) { squall_answer(supervisor, id, -1) }
    }

    private func letGo(_ descriptor: Int32, of thread: Int32) {
        guard let supplied, let number = supplied.number(descriptor, of: thread) else { return }
        supplied.letGo(number)
    }

    /// Answers the test connect of the guard: whether its socket can be had. The kernel makes those before it, as of a library that
    /// is loaded into every program.
    private func test(_ call: SupervisedCall) {
        let code: Int32
        do throws(SystemFailure) {
            guard case .target(let target) = try address(of: call).get(), target.host == TestConnect.address else {
                return pass(call)
            }
            let process = try process(of: call).get()
            defer { release(process) }
            close(try socket(call.descriptor, of: process, isShared: false).get())
            code = TestConnect.works
        } catch {
            code = error.code
        }
        isTested = true
        answer(call.id, .failure(code))
    }

    // MARK: The system

    @discardableResult func answer(_ id: UInt64, _ answer: CallAnswer) -> Bool {
        let code: Int32 =
            switch answer {
            case .success: 0
            case .failure(let code): code
            case .kernel: -1
            }
        return squall_answer(supervisor, id, code) == 0
    }

    func pass(_ call: SupervisedCall) {
        letGo(call.descriptor, of: call.thread)
        answer(call.id, .kernel)
    }

    func isWaiting(_ id: UInt64) -> Bool { squall_is_waiting(supervisor, id) != 0 }

    func hasSignal(_ thread: Int32, in call: UInt64) -> Bool { squall_has_signal(thread) != 0 }

    func isRunning(_ thread: Int32) -> Bool { squall_is_running(thread) != 0 }

    func address(of call: SupervisedCall) -> Result<ConnectAddress, SystemFailure> {
        var storage = sockaddr_storage()
        let size = Int(Int32(truncatingIfNeeded: call.length))
        guard (MemoryLayout<sa_family_t>.size...MemoryLayout<sockaddr_storage>.size).contains(size) else {
            return .success(.other)
        }
        let count = squall_read_memory(call.thread, call.value, &storage, size)
        let isLarge = size >= MemoryLayout<sockaddr_in>.size
        guard count == size else {
            // The kernel says what is wrong with an address that isn't there. Nobody gives one of the network with the size of
            // a Unix socket's.
            let isKernels = count >= 0 || count == -Int(EFAULT) || !isLarge || size == MemoryLayout<sockaddr_un>.size
            return isKernels ? .success(.other) : .failure(SystemFailure(code: Int32(-count)))
        }
        if Int32(storage.ss_family) == AF_UNSPEC { return .success(.unspecified) }
        guard isLarge, Int32(storage.ss_family) != AF_INET6 || size >= 24 else { return .success(.other) }
        return withUnsafePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                // The kernel forgets a scope that means nothing.
                .success(SocketAddress($0).map { .target($0.withoutPort.with(port: $0.port)) } ?? .other)
            }
        }
    }

    func process(of call: SupervisedCall) -> Result<Int32, SystemFailure> { result(processes.open(call.thread)) }

    func release(_ process: Int32) { processes.release(process) }

    func socket(_ descriptor: Int32, of process: Int32, isShared: Bool) -> Result<Int32, SystemFailure> {
        result(processes.duplicate(descriptor, of: process, isShared: isShared))
    }

    private func result(_ descriptor: Int32) -> Result<Int32, SystemFailure> {
        descriptor < 0 ? .failure(SystemFailure(code: -descriptor)) : .success(descriptor)
    }

    func facts(of socket: Int32) -> SocketFacts {
        guard let state = state(of: socket) else {
            let isUDP = option(SO_PROTOCOL, of: socket) == Int32(IPPROTO_UDP)
            return SocketFacts(cookie: 0, isTCP: false, isUDP: isUDP, state: .other)
        }
        let isBlocking = fcntl(socket, F_GETFL) & O_NONBLOCK == 0
        return SocketFacts(
            cookie: squall_socket_cookie(socket),
            state: state,
            isBlocking: isBlocking,
            timeLimit: isBlocking ? timeLimit(of: socket) : nil,
            isElsewhere: isElsewhere(socket)
        )
    }

    func ownAddress(of socket: Int32) -> SocketAddress? { try? SocketAddress.bound(to: socket) }

    func isBlocking(_ call: SupervisedCall) -> Bool { squall_is_blocking(call.thread, call.descriptor) != 0 }

    private func isElsewhere(_ socket: Int32) -> Bool {
        let interface = squall_bound_interface(socket)
        return interface != 0 && interface != LinuxSupervisor.loopback
            || squall_network_cookie(socket) != rendezvous.network
    }

    func takeError(of socket: Int32) -> Int32 { option(SO_ERROR, of: socket) }

    func isConnecting(_ cookie: UInt64, at local: SocketAddress) -> Bool {
        rendezvous.isConnecting(cookie, at: local) || rendezvous.isConnected(cookie, at: local)
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

    /// The state of tcp(7), which is the first byte of what TCP_INFO tells; `nil` if it is no socket of TCP.
    private func state(of socket: Int32) -> SocketFacts.State? {
        var state: UInt8 = 0
        var size: socklen_t = 1
        guard getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, &state, &size) == 0 else { return nil }
        return switch state {
        case 2, 3: .connecting
        case 7: .closed
        default: .other
        }
    }

    func beginConnecting(
        _ socket: Int32,
        isBlocking: Bool,
        to target: SocketAddress
    ) -> Result<SocketAddress, SystemFailure> {
        // As on a machine without that family, which this one is.
        guard let listener = rendezvous.listener(for: target.canonical) else {
            return .failure(SystemFailure(code: ENETUNREACH))
        }
        let address = target.isMapped ? listener.mapped : listener
        // Else this thread would wait.
        if isBlocking { squall_set_blocking(socket, 0) }
        defer { if isBlocking { squall_set_blocking(socket, 1) } }
        return rendezvous.begin(socket, at: address)
    }

    func finishConnecting(_ socket: Int32) -> Int32 {
        // One that has ended by now tells its program so.
        guard state(of: socket) == .other else { return 0 }
        // The family alone is too short for a connect to begin.
        var family = sockaddr()
        family.sa_family = sa_family_t(AF_INET)
        return Glibc.connect(socket, &family, socklen_t(MemoryLayout<sa_family_t>.size)) == 0 ? 0 : errno
    }

    func stopConnecting(_ socket: Int32) {
        Rendezvous.disconnect(socket)
        // The error that the connect has ended with.
        _ = takeError(of: socket)
    }

    func refuse(_ socket: Int32) {
        let isIPv6 = option(SO_DOMAIN, of: socket) == AF_INET6
        let local = try? SocketAddress.bound(to: socket)
        var address = rendezvous.closedAddress(isIPv6: local?.canonical.isIPv6 ?? false)
        if isIPv6, !address.isIPv6 { address = address.mapped }
        // Else the error would be told to this thread, and not to the program.
        let isBlocking = fcntl(socket, F_GETFL) & O_NONBLOCK == 0
        if isBlocking { squall_set_blocking(socket, 0) }
        Rendezvous.disconnect(socket)
        _ = address.withSystemAddress { Glibc.connect(socket, $0, $1) }
        if isBlocking { squall_set_blocking(socket, 1) }
    }

    func connectAndEnd(_ local: SocketAddress, of dial: UInt64, resets: Bool) -> Bool {
        var socket = rendezvous.connect(to: local, by: dial)
        for _ in 0..<LinuxSupervisor.endPatience where socket == -EINPROGRESS {
            poll(nil, 0, 1)
            socket = rendezvous.connect(to: local, by: dial)
        }
        if socket == -EINPROGRESS { rendezvous.end(dial, at: local, isForgotten: true) }
        guard socket >= 0 else { return false }
        var linger = linger(l_onoff: resets ? 1 : 0, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        Glibc.close(socket)
        return true
    }

    func dial(
        _ target: SocketAddress,
        for local: SocketAddress,
        of call: SupervisedCall,
        in descriptor: Int32,
        blocks: Bool
    ) -> Result<UInt64, SystemFailure> {
        // Nobody listens there, as far as programs know.
        if rendezvous.isOwn(target.canonical) { return .failure(SystemFailure(code: ECONNREFUSED)) }
        lastDial += 1
        let process = processes.number(of: descriptor)
        // Another proxy may have another loop than this.
        let isAsked = rules.record != nil || !proxy.admissionLoop.isCurrent || proxy.asksForProgram
        let (number, me) = (lastDial, LoopBound(self, on: loop))
        let client = LocalClient(
            at: local,
            to: target.canonical,
            for: isAsked ? Program(process: process) : nil,
            connect: { [rendezvous] in rendezvous.handOver(to: local, by: number) },
            withdraw: { [rendezvous] in rendezvous.end(number, at: local, isForgotten: true) },
            ended: { outcome in
                if me.loop.isCurrent { return me.value.dialEnded(number, outcome) }
                me.loop.postBeyondLimit { me.value.dialEnded(number, outcome) }
            }
        )
        rendezvous.note(target, of: local, by: number)
        rules.chosen()
        dials[number] = Dial(
            client: client,
            local: local,
            process: process,
            blocks: blocks,
            supplied: supplied?.number(call.descriptor, of: call.thread)
        )
        return .success(number)
    }

    func begin(_ dial: UInt64) {
        guard let client = dials[dial]?.client else { return }
        let proxy = proxy
        if proxy.admissionLoop.isCurrent { return proxy.admit(client) }
        if !proxy.admissionLoop.postBeyondLimit({ proxy.admit(client) }) { client.refuse() }
    }

    private func dialEnded(_ number: UInt64, _ outcome: LocalClient.Outcome) {
        guard let dial = dials.removeValue(forKey: number) else { return }
        let end: DialOutcome =
            switch outcome {
            case .connected: .connected
            case .failed(let code): .failed(code)
            case .ended(reset: true): .failed(ECONNREFUSED)
            case .ended(reset: false): .closed
            }
        let isOver = core.dialEnded(number, end, at: loop.now)
        if case .failed = end {
            // Else a connection that is reset may have to refuse it.
            if isOver { rendezvous.end(number, at: dial.local, isForgotten: true) }
            supplied?.noteChange(at: loop.now)
            setTimer()
        } else if let socket = dial.supplied, let target = rendezvous.target(of: dial.local) {
            supplied?.letGo(socket, connectedTo: target, at: dial.local)
        }
        record(dial, end.word)
    }

    func cancel(_ number: UInt64) {
        guard let dial = dials.removeValue(forKey: number) else { return }
        // Its socket may be connected by now, and its program ask for the target.
        dial.client.cancel()
        rendezvous.end(number, at: dial.local, isForgotten: false)
        record(dial, "cancelled")
    }

    private func record(_ dial: Dial, _ outcome: String) {
        guard let record = rules.record else { return }
        let numbers = dial.client.numbers
        record(
            ConnectRecord(
                moment: loop.now,
                proxy: proxy.name,
                connection: numbers?.connection,
                number: numbers?.atTarget,
                target: "\(dial.client.target)",
                process: dial.process,
                program: dial.client.program?.name,
                blocks: dial.blocks,
                outcome: outcome
            )
        )
    }

    func tell(_ error: Int32, to call: SupervisedCall) -> Bool {
        withUnsafeBytes(of: error) { tell($0, to: call) { min($0, 4) } }
    }

    /// Writes as much of a value as its place has room for, and the length that `length` makes of the room.
    private func tell(
        _ value: UnsafeRawBufferPointer,
        to call: SupervisedCall,
        length: (Int32) -> Int32
    ) -> Bool {
        var room: Int32 = 0
        guard squall_read_memory(call.thread, call.length, &room, 4) == 4, room >= 0 else { return false }
        let count = min(Int(room), value.count)
        return squall_tell(
            supervisor,
            call.id,
            call.thread,
            call.value,
            value.baseAddress,
            count,
            call.length,
            length(room)
        ) == 0
    }

    func tellTarget(of socket: Int32, to call: SupervisedCall) -> Bool {
        guard let peer = SocketAddress.peer(of: socket), let local = try? SocketAddress.bound(to: socket),
            let target = rendezvous.target(of: local.canonical, peer: peer.canonical)
        else { return false }
        return tell(target, to: call)
    }

    private func tell(_ target: SocketAddress, to call: SupervisedCall) -> Bool {
        target.withSystemAddress { address, size in
            tell(UnsafeRawBufferPointer(start: address, count: Int(size)), to: call) { _ in Int32(size) }
        }
    }

    func close(_ descriptor: Int32) { Glibc.close(descriptor) }

    func note(_ notice: SupervisorNotice) {
        if told.insert(notice).inserted { rules.note(notice) }
    }
}
