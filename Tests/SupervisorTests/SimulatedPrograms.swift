import EventLoop
import Supervisor
import Units

/// Programs that connect, are interrupted, close their sockets and vanish, as a seed has it, and a supervisor between them and
/// a proxy whose dials end in any order.
final class SimulatedPrograms: SupervisorSystem {
    struct Socket {
        let cookie: UInt64
        var state = SocketFacts.State.closed
        var isBlocking: Bool
        var timeLimit: Duration?
        var local: SocketAddress?
        var target: SocketAddress?
        /// What the socket's program has been told of its connect, once.
        var outcome: String?
        var error: Int32 = 0
    }

    struct Process {
        var isAlive = true
        /// The sockets by descriptor.
        var descriptors: [Int32: Int] = [:]
    }

    struct Dial {
        let target: SocketAddress
        let local: SocketAddress
    }

    var generator: SeededGenerator
    var sockets: [Socket] = []
    var processes: [Process] = []
    var waiting: [UInt64: (process: Int, socket: Int, call: SupervisedCall)] = [:]
    var answered: Set<UInt64> = []
    var addresses: [UInt64: SocketAddress] = [:]
    var dials: [UInt64: Dial] = [:]
    var problems: [String] = []
    private var handles: [Int32: Int] = [:]
    private var lastHandle: Int32 = 0
    private var lastDial: UInt64 = 0
    private var lastPort: UInt16 = 1_024

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    /// The handles that were not given back.
    var openHandles: Int { handles.count }

    private func handle(_ index: Int) -> Int32 {
        lastHandle += 1
        handles[lastHandle] = index
        return lastHandle
    }

    func socket(at handle: Int32) -> Int {
        guard let index = handles[handle] else {
            problems.append("a handle is used after it was closed")
            return 0
        }
        return index
    }

    func answer(_ id: UInt64, _ answer: CallAnswer) {
        guard let entry = waiting.removeValue(forKey: id) else { return }
        if !answered.insert(id).inserted { problems.append("call \(id) was answered twice") }
        guard entry.call.kind == .connect else { return }
        let index = entry.socket
        switch answer {
        case .success:
            if sockets[index].state != .other { problems.append("a connect succeeded without a connection") }
            tell(index, "connected")
        case .failure(let code) where code == 115 || code == 114:
            break
        case .failure(let code):
            if sockets[index].state == .other { problems.append("a connect failed with \(code) and is connected") }
            tell(index, "failed")
        case .kernel:
            // The kernel only says how far the socket is.
            if sockets[index].state == .closed { tell(index, "kernel") }
        }
    }

    private func tell(_ index: Int, _ outcome: String) {
        if let last = sockets[index].outcome, last != outcome {
            problems.append("a connect was \(last) and \(outcome)")
        }
        sockets[index].outcome = outcome
    }

    func isWaiting(_ id: UInt64) -> Bool { waiting[id] != nil }

    func address(of call: SupervisedCall) -> SocketAddress? { addresses[call.id] }

    func process(of call: SupervisedCall) -> Result<Int32, SystemFailure> {
        let index = Int(call.thread)
        return processes[index].isAlive ? .success(handle(index)) : .failure(SystemFailure(code: 3))
    }

    func socket(_ descriptor: Int32, of process: Int32, isShared: Bool) -> Result<Int32, SystemFailure> {
        let process = processes[socket(at: process)]
        guard process.isAlive, let index = process.descriptors[descriptor] else {
            return .failure(SystemFailure(code: 9))
        }
        return .success(handle(index))
    }

    func facts(of handle: Int32) -> SocketFacts {
        let socket = sockets[socket(at: handle)]
        return SocketFacts(
            cookie: socket.cookie,
            state: socket.state,
            isBlocking: socket.isBlocking,
            timeLimit: socket.timeLimit
        )
    }

    func release(_ process: Int32) { close(process) }

    func beginConnecting(
        _ handle: Int32,
        isBlocking: Bool,
        to target: SocketAddress
    ) -> Result<SocketAddress, SystemFailure> {
        let index = socket(at: handle)
        if sockets[index].state != .closed { problems.append("a socket connects twice") }
        lastPort += 1
        guard let local = SocketAddress(numericHost: "127.0.0.1", port: lastPort) else { preconditionFailure() }
        (sockets[index].state, sockets[index].local, sockets[index].target) = (.connecting, local, target)
        return .success(local)
    }

    func stopConnecting(_ handle: Int32) {
        let index = socket(at: handle)
        if sockets[index].state == .other { problems.append("a connected socket was taken back") }
        sockets[index].state = .closed
    }

    func refuse(_ handle: Int32) {
        let index = socket(at: handle)
        if sockets[index].state != .connecting { problems.append("a socket was refused that doesn't connect") }
        (sockets[index].state, sockets[index].error) = (.closed, 111)
        tell(index, "refused")
    }

    func connectAndEnd(_ local: SocketAddress) { connect(local) }

    /// The proxy's socket meets a program's.
    func connect(_ local: SocketAddress) {
        guard let index = sockets.firstIndex(where: { $0.local == local }), sockets[index].state == .connecting else {
            return
        }
        sockets[index].state = .other
    }

    func dial(
        _ target: SocketAddress,
        for local: SocketAddress,
        of call: SupervisedCall,
        blocks: Bool
    ) -> Result<UInt64, SystemFailure> {
        if generator.next() % 16 == 0 { return .failure(SystemFailure(code: 111)) }
        if sockets.first(where: { $0.local == local })?.target != target { problems.append("a target was mixed up") }
        lastDial += 1
        dials[lastDial] = Dial(target: target, local: local)
        return .success(lastDial)
    }

    func cancel(_ dial: UInt64) {
        if dials.removeValue(forKey: dial) == nil { problems.append("a dial was cancelled that isn't there") }
    }

    func tell(_ error: Int32, to call: SupervisedCall, of handle: Int32) -> Bool {
        sockets[socket(at: handle)].error = 0
        return true
    }

    func tellTarget(of handle: Int32, to call: SupervisedCall) -> Bool { sockets[socket(at: handle)].state == .other }

    func close(_ handle: Int32) {
        if handles.removeValue(forKey: handle) == nil { problems.append("a handle was closed twice") }
    }

    func note(_ notice: SupervisorNotice) {}
}
