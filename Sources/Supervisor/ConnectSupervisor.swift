import EventLoop
import Glibc
import Units

/// Decides about the calls of supervised programs: which connections go through the proxy, and how each connect ends.
///
/// A program's own socket connects to a listener that never answers, and the proxy dials the target. When that has succeeded,
/// a socket of the proxy connects to the program's, which completes both connects (a simultaneous open, RFC 9293, section
/// 3.5). A thread whose connect blocks gets no answer before the outcome is known.
///
/// It has no thread, clock or descriptor: calls, outcomes and the time come from outside.
package final class ConnectSupervisor {
    /// The most connects that are kept track of at a time: 4,096. One more fails with EAGAIN.
    package static let limit = 4_096
    /// How often connects are looked after whose program may be gone: every 100 ms.
    package static let interval = Duration.milliseconds(100)
    /// The time between two looks for signals of waiting threads: 5 ms, or 500 µs for each thread if that is longer.
    package static let signalInterval = Duration.milliseconds(5)
    /// How long a thread may take to begin the call that is left to the kernel: 100 ms. A refusal that waits for it looks
    /// every 1 ms.
    private static let startLimit = Duration.milliseconds(100)
    private static let startInterval = Duration.milliseconds(1)

    private struct Pending {
        /// The call that waits; `nil` where none does.
        var call: UInt64?
        /// Its thread.
        var thread: Int32
        let process: Int32
        let descriptor: Int32
        let cookie: UInt64
        let local: SocketAddress
        /// The program's socket, while its thread waits.
        var socket: Int32?
        /// When the call fails (SO_SNDTIMEO), and how.
        var deadline: Moment
        var lateCode = EINPROGRESS
        /// The thread whose connect was ended by a signal before its answer, and which may connect again.
        var restarting: Int32?
        /// The thread whose call was left to the kernel last, and when that has surely begun.
        var left: (thread: Int32, begun: Moment)?
    }

    /// The error of a socket that was refused.
    private struct Refusal {
        let code: Int32
        /// Whether a call took it from the socket, and ended before its answer.
        var isUntold = false
    }

    private unowned let system: any SupervisorSystem
    private let isWanted: (SocketAddress) -> Bool
    /// Whether what can't be redirected is left to the kernel; otherwise it fails with EACCES.
    private let allowsUnproxied: Bool
    private var pending: [UInt64: Pending] = [:]
    /// The dials of the sockets that connect, by cookie and by their own address.
    private var dials: [UInt64: UInt64] = [:]
    private var dialsByAddress: [SocketAddress: UInt64] = [:]
    /// The errno values of dials that have failed before a call that was left to the kernel has begun.
    private var failures: [UInt64: Int32] = [:]
    /// The errors of sockets that were refused, by cookie, until the program asks: as many as `limit`, of the youngest sockets.
    private var errors: [UInt64: Refusal] = [:]
    /// When all are looked after next, and the first deadline, or one of a connect that has ended.
    private var lookDue = Moment.distantFuture
    private var firstDeadline = Moment.distantFuture
    /// When signals are looked for next.
    package private(set) var nextLookForSignals = Moment.distantFuture
    /// When threads that were left to the kernel are looked at next.
    package private(set) var nextLookForThreads = Moment.distantFuture

    /// A supervisor that redirects the connections to the targets that `isWanted`.
    package init(_ system: any SupervisorSystem, allowsUnproxied: Bool, isWanted: @escaping (SocketAddress) -> Bool) {
        self.system = system
        self.allowsUnproxied = allowsUnproxied
        self.isWanted = isWanted
    }

    /// The number of connects that aren't decided.
    package var count: Int { pending.count }

    /// When `look` is to be called next.
    package var nextLook: Moment { pending.isEmpty ? .distantFuture : min(lookDue, firstDeadline) }

    /// A program's thread waits.
    package func receive(_ call: SupervisedCall, at now: Moment) {
        switch call.kind {
        case .connect: connect(call, at: now)
        case .peerName: system.answer(call.id, tellTarget(of: call) ? .success : .kernel)
        case .pendingError: answerError(of: call)
        case .unsupported(let code): system.answer(call.id, .failure(code))
        case .other: system.answer(call.id, .kernel)
        }
    }

    private func connect(_ call: SupervisedCall, at now: Moment) {
        let named: SocketAddress
        let process: Int32
        let socket: Int32
        do throws(SystemFailure) {
            switch try system.address(of: call).get() {
            case .target(let address): named = address
            case .unspecified: return dissolve(call)
            case .other:
                system.answer(call.id, .kernel)
                return
            }
            process = try system.process(of: call).get()
        } catch {
            return leave(call, error.code)
        }
        do throws(SystemFailure) {
            socket = try system.socket(call.descriptor, of: process, isShared: false).get()
        } catch {
            system.release(process)
            let target = named.reached(from: nil)
            switch error.code {
            // The kernel says what is wrong with the descriptor.
            case EBADF: system.answer(call.id, .kernel)
            case EPROTOTYPE:
                noteHTTP3(call, to: target)
                system.answer(call.id, .kernel)
            case _ where !isWanted(target): system.answer(call.id, .kernel)
            case EXDEV: leave(call, .network)
            default: leave(call, error.code)
            }
            return
        }
        // Else they may be of another thread, which has its number by now.
        let step = system.isWaiting(call.id) ? redirect(call, process, socket, to: named, at: now) : .answered
        guard step != .kept else { return }
        // First: the program may close its own, and this one would wait for its bytes (SO_LINGER).
        system.close(socket)
        system.release(process)
        if step == .passes { system.pass(call) }
    }

    /// How far a call has come.
    private enum Step {
        /// Its process and its socket are kept.
        case kept
        case answered
        /// The kernel is to make it.
        case passes
    }

    /// Leaves it to the kernel to end a connect. Its dial is over before, which would find the socket at its next connect.
    private func dissolve(_ call: SupervisedCall) {
        var hadDial = false
        if !dials.isEmpty || !errors.isEmpty {
            withSocket(of: call) { socket in
                let cookie = system.facts(of: socket).cookie
                errors[cookie] = nil
                if let dial = dials[cookie] {
                    end(dial)
                    hadDial = true
                }
                return true
            }
        }
        // Where a signal has come before, nobody else would end the connect.
        if !system.answer(call.id, .kernel), hadDial {
            withSocket(of: call) { socket in
                if system.facts(of: socket).state == .connecting { system.stopConnecting(socket) }
                return true
            }
        }
    }

    private func noteHTTP3(_ call: SupervisedCall, to target: SocketAddress) {
        if target.port == 443, isWanted(target), !system.isBlocking(call) { system.note(.http3) }
    }

    /// Redirects a connect, or answers it, unless it passes.
    private func redirect(
        _ call: SupervisedCall,
        _ process: Int32,
        _ socket: Int32,
        to named: SocketAddress,
        at now: Moment
    ) -> Step {
        let facts = system.facts(of: socket)
        let target = named.canonical.isWildcard ? named.reached(from: system.ownAddress(of: socket)) : named
        if facts.isUDP { noteHTTP3(call, to: target) }
        let lastError = errors.removeValue(forKey: facts.cookie)
        // The connect before has ended, as by shutdown(2).
        if let dial = dials[facts.cookie], facts.state == .closed { end(dial) }
        guard facts.isTCP, isWanted(target) else { return .passes }
        if let dial = dials[facts.cookie], facts.state == .connecting {
            return repeats(call, dial, facts, socket: socket, process: process, at: now) ? .kept : .answered
        }
        guard facts.state == .closed else {
            // Connected, or connecting past this supervisor: the kernel says so.
            system.answer(call.id, .kernel)
            return .answered
        }
        guard !facts.isElsewhere else {
            leave(call, .network)
            return .answered
        }
        // Those whose sockets are closed make room. Not at each call, because it takes milliseconds.
        if pending.count >= ConnectSupervisor.limit, lookDue - now <= ConnectSupervisor.interval * 9 / 10 {
            look(at: now)
        }
        guard pending.count < ConnectSupervisor.limit else {
            system.note(.full)
            system.answer(call.id, .failure(EAGAIN))
            return .answered
        }
        let local: SocketAddress
        do throws(SystemFailure) {
            local = try system.beginConnecting(socket, isBlocking: facts.isBlocking, to: target).get()
        } catch {
            switch error.code {
            case EADDRNOTAVAIL: leave(call, .address)
            // The end of a connect that nobody has asked for yet.
            case ECONNREFUSED, ECONNRESET: system.answer(call.id, .failure(lastError?.code ?? error.code))
            default: system.answer(call.id, .failure(error.code))
            }
            return .answered
        }
        // Its socket is closed, and would have got this one's connection.
        if let dial = dialsByAddress[local] { giveUp(dial) }
        do throws(SystemFailure) {
            let dial = try system.dial(target, for: local, of: call, in: process, blocks: facts.isBlocking).get()
            note(dial, of: call, facts, local, socket: socket, process: process, at: now)
            system.begin(dial)
            return .kept
        } catch {
            system.stopConnecting(socket)
            system.answer(call.id, .failure(error.code))
            return .answered
        }
    }

    /// Notes a connect whose dial begins; a call that doesn't block is answered.
    private func note(
        _ dial: UInt64,
        of call: SupervisedCall,
        _ facts: SocketFacts,
        _ local: SocketAddress,
        socket: Int32,
        process: Int32,
        at now: Moment
    ) {
        if pending.isEmpty { lookDue = now + ConnectSupervisor.interval }
        let deadline = facts.isBlocking ? facts.timeLimit.map { now + $0 } ?? .distantFuture : .distantFuture
        firstDeadline = min(firstDeadline, deadline)
        dials[facts.cookie] = dial
        dialsByAddress[local] = dial
        pending[dial] = Pending(
            call: facts.isBlocking ? call.id : nil,
            thread: call.thread,
            process: process,
            descriptor: call.descriptor,
            cookie: facts.cookie,
            local: local,
            socket: facts.isBlocking ? socket : nil,
            deadline: deadline
        )
        guard !facts.isBlocking else { return noteWaiting(at: now) }
        // The program closes its socket when it likes.
        system.close(socket)
        if !system.answer(call.id, .failure(EINPROGRESS)) { pending[dial]?.restarting = call.thread }
    }

    /// A connect of a socket that connects already: by a thread that was interrupted, or one that asks how far it is. Returns
    /// whether the process and the socket are kept.
    private func repeats(
        _ call: SupervisedCall,
        _ dial: UInt64,
        _ facts: SocketFacts,
        socket: Int32,
        process: Int32,
        at now: Moment
    ) -> Bool {
        guard facts.isBlocking, var entry = pending[dial] else {
            // The kernel would say so when the thread runs, in the middle of a refusal perhaps.
            let isRestarted = pending[dial]?.restarting == call.thread
            let isAnswered = system.answer(call.id, .failure(isRestarted ? EINPROGRESS : EALREADY))
            if isRestarted, isAnswered { pending[dial]?.restarting = nil }
            return false
        }
        // Two threads wait for one socket: the first call fails with EALREADY.
        if let last = entry.call, system.isWaiting(last) { system.answer(last, .failure(EALREADY)) }
        if let old = entry.socket { system.close(old) }
        system.release(process)
        (entry.call, entry.thread, entry.socket) = (call.id, call.thread, socket)
        entry.lateCode = EALREADY
        noteWaiting(at: now)
        // One that was interrupted waits for the rest of its time.
        if entry.deadline == .distantFuture, let limit = facts.timeLimit { entry.deadline = now + limit }
        firstDeadline = min(firstDeadline, entry.deadline)
        pending[dial] = entry
        if let code = failures[dial] { dialEnded(dial, .failed(code), at: now) }
        return true
    }

    /// Leaves a connect that can't be redirected to the kernel, or has it fail.
    private func leave(_ call: SupervisedCall, _ obstacle: SupervisorNotice.Obstacle) {
        // The thread is gone.
        guard system.isWaiting(call.id) else { return }
        system.note(.unproxied(obstacle))
        if allowsUnproxied { system.pass(call) } else { system.answer(call.id, .failure(EACCES)) }
    }

    /// As `leave`, for an errno value of what was tried. Without descriptors a connect fails as it would without a supervisor
    /// whose process has none.
    private func leave(_ call: SupervisedCall, _ code: Int32) {
        if [EMFILE, ENFILE].contains(code) {
            system.answer(call.id, .failure(code))
        } else {
            leave(call, .program(code))
        }
    }

    private func tellTarget(of call: SupervisedCall) -> Bool {
        withSocket(of: call) { system.tellTarget(of: $0, to: call) }
    }

    /// Answers a call that asks for a socket's error. If a signal ends the call first, the error is kept for the next one, as the
    /// socket no longer has it.
    private func answerError(of call: SupervisedCall) {
        var told: (cookie: UInt64, code: Int32)?
        if !errors.isEmpty || !dials.isEmpty {
            withSocket(of: call) { socket in
                told = error(of: socket)
                return true
            }
        }
        guard let told else {
            system.answer(call.id, .kernel)
            return
        }
        if system.tell(told.code, to: call), system.answer(call.id, .success) { return }
        if told.code != 0 { note(Refusal(code: told.code, isUntold: true), of: told.cookie) }
        // Its memory isn't there.
        system.answer(call.id, .kernel)
    }

    /// The error of a socket, which has it no more, and its cookie; `nil` for one that the kernel tells.
    private func error(of socket: Int32) -> (cookie: UInt64, code: Int32)? {
        let facts = system.facts(of: socket)
        // The kernel would tell it when the thread runs, in the middle of a refusal perhaps.
        guard let refusal = errors[facts.cookie] else {
            return dials[facts.cookie] == nil ? nil : (facts.cookie, system.takeError(of: socket))
        }
        errors[facts.cookie] = nil
        // A closed socket without an error has told it by another call.
        let isTold = system.takeError(of: socket) == 0 && facts.state == .closed && !refusal.isUntold
        return isTold ? nil : (facts.cookie, refusal.code)
    }

    @discardableResult private func withSocket(of call: SupervisedCall, _ body: (Int32) -> Bool) -> Bool {
        guard case .success(let process) = system.process(of: call) else { return false }
        defer { system.release(process) }
        guard case .success(let socket) = system.socket(call.descriptor, of: process, isShared: false) else {
            return false
        }
        defer { system.close(socket) }
        return body(socket)
    }

    /// A dial has ended. Returns `false` if `lookForThreads` is to refuse its socket.
    @discardableResult package func dialEnded(_ dial: UInt64, _ outcome: DialOutcome, at now: Moment) -> Bool {
        if case .failed(let code) = outcome, let entry = pending[dial], isStarting(entry, at: now) {
            failures[dial] = code
            nextLookForThreads = min(nextLookForThreads, now + ConnectSupervisor.startInterval)
            return false
        }
        if let entry = remove(dial) { settle(entry, of: dial, outcome) }
        return true
    }

    /// Whether a call that was left to the kernel may not have begun. While its socket is refused it would connect past the
    /// proxy.
    private func isStarting(_ entry: Pending, at now: Moment) -> Bool {
        guard entry.call == nil, let left = entry.left, now < left.begun else { return false }
        return system.isRunning(left.thread)
    }

    /// Refuses the sockets whose dials have failed, once the calls that were left to the kernel have begun.
    package func lookForThreads(at now: Moment) {
        nextLookForThreads = .distantFuture
        for (dial, code) in failures { dialEnded(dial, .failed(code), at: now) }
    }

    /// Ends a connect as its dial has ended.
    private func settle(_ entry: Pending, of dial: UInt64, _ outcome: DialOutcome) {
        // Nothing is left to do if it doesn't wait. As above, the socket is closed first.
        if outcome == .connected {
            var code: Int32 = 0
            // One that a signal has ended calls anew, and the kernel tells it.
            if let call = entry.call, let socket = entry.socket, system.isWaiting(call) {
                code = system.finishConnecting(socket)
            }
            release(entry)
            if let call = entry.call { system.answer(call, code == 0 ? .success : .failure(code)) }
            return
        }
        defer { release(entry) }
        if let call = entry.call, let socket = entry.socket, system.isWaiting(call) {
            switch outcome {
            case .connected: break
            case .closed where system.connectAndEnd(entry.local, of: dial, resets: false):
                system.answer(call, .success)
            case .closed:
                system.stopConnecting(socket)
                system.answer(call, .failure(ECONNREFUSED))
            case .failed(let code):
                system.stopConnecting(socket)
                system.answer(call, .failure(code))
            }
            return
        }
        switch outcome {
        case .connected: break
        case .closed:
            if isConnecting(entry), !system.connectAndEnd(entry.local, of: dial, resets: false) {
                refuse(entry, of: dial, ECONNREFUSED)
            }
        case .failed(let code): refuse(entry, of: dial, code)
        }
    }

    /// Has a connect fail for which no thread waits.
    private func refuse(_ entry: Pending, of dial: UInt64, _ code: Int32) {
        // The error is noted before the program is woken, which asks for it.
        let isFound = withConnecting(entry) { socket in
            note(Refusal(code: code), of: entry.cookie)
            system.refuse(socket)
        }
        guard !isFound, system.isConnecting(entry.cookie, at: entry.local) else { return }
        note(Refusal(code: code), of: entry.cookie)
        system.connectAndEnd(entry.local, of: dial, resets: true)
    }

    private func note(_ refusal: Refusal, of cookie: UInt64) {
        if errors.count >= ConnectSupervisor.limit, let oldest = errors.keys.min() { errors[oldest] = nil }
        errors[cookie] = refusal
    }

    /// Gives everything back; the calls that wait fail when the supervisor's descriptor is closed.
    package func close() {
        for entry in pending.values { release(entry) }
        (pending, dials, dialsByAddress, failures) = ([:], [:], [:], [:])
    }

    /// Looks after the connects whose time is over, or whose program is gone.
    package func look(at now: Moment) {
        for (dial, entry) in pending {
            if let call = entry.call {
                guard system.isWaiting(call) else {
                    // Interrupted or killed: the connect goes on, as without a supervisor.
                    letGo(dial)
                    continue
                }
                if now >= entry.deadline {
                    system.answer(call, .failure(entry.lateCode))
                    pending[dial]?.deadline = .distantFuture
                    pending[dial]?.lateCode = EALREADY
                    letGo(dial)
                } else if let socket = entry.socket, system.facts(of: socket).state == .closed {
                    // The kernel has given up, or another thread has ended the connect, as by shutdown(2).
                    end(dial)
                }
            } else if !isConnecting(entry) {
                giveUp(dial)
            }
        }
        lookDue = now + ConnectSupervisor.interval
        firstDeadline = pending.values.reduce(.distantFuture) { $1.call == nil ? $0 : min($0, $1.deadline) }
    }

    private func noteWaiting(at now: Moment) {
        if system.holdsSignals {
            nextLookForSignals = min(nextLookForSignals, now + ConnectSupervisor.signalInterval)
        }
    }

    /// Hands the calls over of threads for which a signal has come. The kernel leaves that to the supervisor if
    /// `holdsSignals`.
    package func lookForSignals(at now: Moment) {
        var count = 0
        for (dial, entry) in pending {
            guard let call = entry.call, let socket = entry.socket else { continue }
            count += 1
            guard system.hasSignal(entry.thread, in: call) else { continue }
            // Else the kernel would connect it past the proxy.
            guard system.facts(of: socket).state != .closed else {
                end(dial)
                continue
            }
            // The kernel's own call doesn't wait: it ends with EINTR, or is made anew, as the signal has it. An answer would have to
            // know that.
            system.answer(call, .kernel)
            pending[dial]?.left = (entry.thread, now + ConnectSupervisor.startLimit)
            letGo(dial)
        }
        let interval = max(ConnectSupervisor.signalInterval, .microseconds(500 * count))
        nextLookForSignals = count == 0 ? .distantFuture : now + interval
    }

    /// Gives up a dial whose socket no longer connects. A call that waits for it fails with the socket's error.
    private func end(_ dial: UInt64) {
        if let entry = pending[dial], let call = entry.call, let socket = entry.socket, system.isWaiting(call) {
            let code = system.takeError(of: socket)
            // Else the kernel would end that connect once more, at the next one.
            if system.facts(of: socket).state == .closed { system.stopConnecting(socket) }
            system.answer(call, .failure(code == 0 ? ECONNABORTED : code))
        }
        giveUp(dial)
    }

    /// No thread waits for the dial any more.
    private func letGo(_ dial: UInt64) {
        guard var entry = pending[dial] else { return }
        if let socket = entry.socket { system.close(socket) }
        (entry.call, entry.socket) = (nil, nil)
        pending[dial] = entry
    }

    private func giveUp(_ dial: UInt64) {
        if failures[dial] == nil { system.cancel(dial) }
        if let entry = remove(dial) { release(entry) }
    }

    /// Whether a program has the socket of a connect still, and it is connecting, or the end of its dial is on the way.
    private func isConnecting(_ entry: Pending) -> Bool {
        // The second takes longer, and finds sockets that have another descriptor or process by now.
        withConnecting(entry) { _ in } || system.isConnecting(entry.cookie, at: entry.local)
    }

    /// Calls `body` with the socket of a connect, if the program has it under its descriptor and it is connecting; returns
    /// whether it is.
    private func withConnecting(_ entry: Pending, _ body: (Int32) -> Void) -> Bool {
        guard case .success(let socket) = system.socket(entry.descriptor, of: entry.process, isShared: true) else {
            return false
        }
        defer { system.close(socket) }
        let facts = system.facts(of: socket)
        guard facts.cookie == entry.cookie, facts.state == .connecting else { return false }
        body(socket)
        return true
    }

    private func remove(_ dial: UInt64) -> Pending? {
        guard let entry = pending.removeValue(forKey: dial) else { return nil }
        failures[dial] = nil
        if dials[entry.cookie] == dial { dials[entry.cookie] = nil }
        if dialsByAddress[entry.local] == dial { dialsByAddress[entry.local] = nil }
        return entry
    }

    private func release(_ entry: Pending) {
        if let socket = entry.socket { system.close(socket) }
        system.release(entry.process)
    }
}
