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
        /// Whether its program has chosen its own address.
        var isBound = false
        var isElsewhere = false
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
    /// The calls whose memory may not be read, and those with AF_UNSPEC.
    var secret: Set<UInt64> = []
    var unspecified: Set<UInt64> = []
    var holdsSignals = false
    /// The calls for whose threads a signal may have come.
    var signals: Set<UInt64> = []
    /// The connects that the kernel goes on with, and the threads of those that it hasn't begun, by socket.
    var left: Set<UInt64> = []
    var starting: [Int: Int32] = [:]
    /// The errno value of asking for a process, if that fails.
    var processError: Int32?
    /// The calls that a signal ends just before their answer.
    var interrupted: Set<UInt64> = []
    /// What the next connect of a socket says, by cookie.
    var objections: [UInt64: Int32] = [:]
    var notices: [SupervisorNotice] = []
    /// How calls have failed, and the errors that they were told.
    var failures: [UInt64: Int32] = [:]
    var told: [UInt64: Int32] = [:]
    var dials: [UInt64: Dial] = [:]
    var problems: [String] = []
    /// Called for each dial that begins.
    var begun: (UInt64) -> Void = { _ in }
    /// The last socket that has connected from an address.
    private var lastAt: [SocketAddress: Int] = [:]
    private var handles: [Int32: Int] = [:]
    private var processHandles: Set<Int32> = []
    private var lastHandle: Int32 = 0
    private var lastDial: UInt64 = 0
    private var lastPort: UInt16 = 1_024

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    /// The handles that were not given back.
    var openHandles: Int { handles.count }

    /// Whether a program or the supervisor has a socket.
    func isOpen(_ index: Int) -> Bool {
        handles.contains { $0.value == index && !processHandles.contains($0.key) }
            || processes.contains { $0.isAlive && $0.descriptors.values.contains(index) }
    }

    /// The sockets that programs have and that are connecting.
    var undecided: [Int] { sockets.indices.filter { sockets[$0].state == .connecting && isOpen($0) } }

    /// A program ends the connect of its socket.
    func dissolve(_ index: Int) {
        (sockets[index].state, sockets[index].outcome, sockets[index].error) = (.closed, nil, 104)
        forgetStarting(index)
    }

    /// A call that was left counts no more when another thread has ended the connect of its socket, or waited for it.
    private func forgetStarting(_ index: Int) { starting[index] = nil }

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

    @discardableResult func answer(_ id: UInt64, _ answer: CallAnswer) -> Bool {
        guard let entry = waiting.removeValue(forKey: id) else { return false }
        if interrupted.contains(id) { return false }
        settle(entry.call, of: entry.socket, answer)
        return true
    }

    private func settle(_ call: SupervisedCall, of index: Int, _ answer: CallAnswer) {
        let id = call.id
        if !answered.insert(id).inserted { problems.append("call \(id) was answered twice") }
        if case .failure(let code) = answer { failures[id] = code }
        guard call.kind == .connect else { return }
        if unspecified.contains(id) { return dissolve(index) }
        switch answer {
        case .success:
            if sockets[index].state != .other { problems.append("a connect succeeded without a connection") }
            tell(index, "connected")
        case .failure(let code) where code == 115 || code == 114:
            break
        case .failure(let code):
            if sockets[index].state == .other { problems.append("a connect failed with \(code) and is connected") }
            tell(index, "failed")
        case .kernel where sockets[index].state == .closed:
            if signals.contains(id) { problems.append("a signal has a connect pass the proxy") }
            tell(index, "kernel")
        case .kernel:
            // The kernel ends it for the signal, or makes it anew.
            if sockets[index].state == .connecting, !signals.contains(id) {
                problems.append("call \(id) was left to the kernel without a signal")
            }
            left.insert(id)
            if sockets[index].state == .connecting { starting[index] = call.thread }
        }
    }

    private func tell(_ index: Int, _ outcome: String) {
        if let last = sockets[index].outcome, last != outcome {
            problems.append("a connect was \(last) and \(outcome)")
        }
        sockets[index].outcome = outcome
    }

    func isWaiting(_ id: UInt64) -> Bool { waiting[id] != nil }

    func hasSignal(_ thread: Int32, in call: UInt64) -> Bool { signals.contains(call) }

    func isRunning(_ thread: Int32) -> Bool { starting.values.contains(thread) }

    func isBlocking(_ call: SupervisedCall) -> Bool { true }

    func address(of call: SupervisedCall) -> Result<ConnectAddress, SystemFailure> {
        if secret.contains(call.id) { return .failure(SystemFailure(code: 1)) }
        if unspecified.contains(call.id) { return .success(.unspecified) }
        return .success(addresses[call.id].map { .target($0) } ?? .other)
    }

    func process(of call: SupervisedCall) -> Result<Int32, SystemFailure> {
        let index = Int(call.thread)
        if let processError { return .failure(SystemFailure(code: processError)) }
        guard processes[index].isAlive else { return .failure(SystemFailure(code: 3)) }
        processHandles.insert(lastHandle + 1)
        return .success(handle(index))
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
            timeLimit: socket.timeLimit,
            isElsewhere: socket.isElsewhere
        )
    }

    func ownAddress(of handle: Int32) -> SocketAddress? {
        let socket = sockets[socket(at: handle)]
        return socket.isBound ? socket.local : nil
    }

    func takeError(of handle: Int32) -> Int32 {
        let index = socket(at: handle)
        defer { sockets[index].error = 0 }
        return sockets[index].error
    }

    func isConnecting(_ cookie: UInt64, at local: SocketAddress) -> Bool {
        lastAt[local].map { sockets[$0].cookie == cookie && sockets[$0].state != .closed && isOpen($0) } ?? false
    }

    func release(_ process: Int32) { close(process) }

    func beginConnecting(
        _ handle: Int32,
        isBlocking: Bool,
        to target: SocketAddress
    ) -> Result<SocketAddress, SystemFailure> {
        let index = socket(at: handle)
        if sockets[index].state != .closed { problems.append("a socket connects twice") }
        if let code = objections.removeValue(forKey: sockets[index].cookie) {
            return .failure(SystemFailure(code: code))
        }
        if !sockets[index].isBound {
            lastPort += 1
            sockets[index].local = SocketAddress(numericHost: "127.0.0.1", port: lastPort)
        }
        guard let local = sockets[index].local else { preconditionFailure() }
        (sockets[index].state, sockets[index].target, sockets[index].outcome) = (.connecting, target, nil)
        lastAt[local] = index
        return .success(local)
    }

    func finishConnecting(_ handle: Int32) -> Int32 {
        _ = socket(at: handle)
        return 0
    }

    func stopConnecting(_ handle: Int32) {
        let index = socket(at: handle)
        if sockets[index].state == .other { problems.append("a connected socket was taken back") }
        sockets[index].state = .closed
        forgetStarting(index)
    }

    func refuse(_ handle: Int32) {
        let index = socket(at: handle)
        if sockets[index].state != .connecting { problems.append("a socket was refused that doesn't connect") }
        if starting[index] != nil { problems.append("a refused socket connects past the proxy") }
        (sockets[index].state, sockets[index].error) = (.closed, 111)
        tell(index, "refused")
    }

    func connectAndEnd(_ local: SocketAddress, of dial: UInt64, resets: Bool) -> Bool {
        guard let index = connecting(at: local) else { return false }
        sockets[index].state = resets ? .closed : .other
        if resets {
            sockets[index].error = 104
            tell(index, "refused")
        }
        return true
    }

    /// The proxy's socket meets a program's; returns whether there is one.
    func connect(_ dial: Dial) -> Bool {
        guard let index = connecting(at: dial.local) else { return false }
        if sockets[index].target != dial.target { problems.append("a socket was connected to another one's target") }
        sockets[index].state = .other
        return true
    }

    private func connecting(at local: SocketAddress) -> Int? {
        guard let index = lastAt[local], sockets[index].local == local, sockets[index].state == .connecting else {
            return nil
        }
        return isOpen(index) ? index : nil
    }

    func dial(
        _ target: SocketAddress,
        for local: SocketAddress,
        of call: SupervisedCall,
        in process: Int32,
        blocks: Bool
    ) -> Result<UInt64, SystemFailure> {
        if generator.next() % 16 == 0 { return .failure(SystemFailure(code: 111)) }
        if connecting(at: local).map({ sockets[$0].target }) != target { problems.append("a target was mixed up") }
        lastDial += 1
        dials[lastDial] = Dial(target: target, local: local)
        return .success(lastDial)
    }

    func begin(_ dial: UInt64) {
        if dials[dial] == nil { problems.append("a dial begins that isn't there") }
        begun(dial)
    }

    func cancel(_ dial: UInt64) {
        if dials.removeValue(forKey: dial) == nil { problems.append("a dial was cancelled that isn't there") }
    }

    func tell(_ error: Int32, to call: SupervisedCall) -> Bool {
        told[call.id] = error
        return true
    }

    func tellTarget(of handle: Int32, to call: SupervisedCall) -> Bool { sockets[socket(at: handle)].state == .other }

    func close(_ handle: Int32) {
        if handles.removeValue(forKey: handle) == nil { problems.append("a handle was closed twice") }
    }

    func note(_ notice: SupervisorNotice) { notices.append(notice) }
}
