import EventLoop
import Supervisor
import Testing
import Units

struct ConnectSupervisorTests {
    /// A world of a few processes whose calls, interruptions, ends and dials come as the seed has it.
    private final class World {
        let system: SimulatedPrograms
        let supervisor: ConnectSupervisor
        var now = Moment.zero
        private var lastCall: UInt64 = 0
        private var lastCookie: UInt64 = 0

        init(seed: UInt64) {
            system = SimulatedPrograms(seed: seed)
            system.holdsSignals = seed % 2 == 0
            supervisor = ConnectSupervisor(system, allowsUnproxied: false) { _ in true }
            for _ in 0..<3 { system.processes.append(.init()) }
            // One to this machine may end before its call has returned.
            system.begun = { [unowned self] dial in if draw(4) == 0 { end(dial) } }
        }

        func draw(_ count: Int) -> Int { Int(system.generator.next() % UInt64(count)) }

        func step() {
            switch draw(12) {
            case 0, 1, 2: connect()
            case 3: connectAgain()
            case 4: interrupt()
            case 5: closeSocket()
            case 6: if draw(12) == 0 { vanish() }
            case 7: ask()
            case 8: moveDescriptor()
            case 9: dissolve()
            case 10: takeAddressOver()
            default: endDial()
            }
            // A call that is left to the kernel begins soon, or after the next step.
            let isSoon = draw(4) > 0
            if isSoon { system.starting = [:] }
            now = now.advanced(byNanoseconds: Int64(draw(isSoon ? 400_000_000 : 2_000_000)))
            if now >= supervisor.nextLook || draw(3) == 0 { supervisor.look(at: now) }
            if now >= supervisor.nextLookForSignals { supervisor.lookForSignals(at: now) }
            if now >= supervisor.nextLookForThreads { supervisor.lookForThreads(at: now) }
        }

        private func call(
            _ kind: SupervisedCall.Kind,
            _ process: Int,
            _ descriptor: Int32,
            _ target: UInt16?
        ) {
            lastCall += 1
            if target == nil { system.unspecified.insert(lastCall) }
            let call = SupervisedCall(id: lastCall, kind, thread: Int32(process), descriptor: descriptor)
            let index = system.processes[process].descriptors[descriptor] ?? 0
            system.addresses[lastCall] = target.flatMap { SocketAddress(numericHost: "192.0.2.1", port: $0) }
            system.waiting[lastCall] = (process, index, call)
            if !system.holdsSignals, draw(16) == 0 { system.interrupted.insert(lastCall) }
            supervisor.receive(call, at: now)
        }

        private func connect(from address: SocketAddress? = nil) {
            let process = draw(system.processes.count)
            guard system.processes[process].isAlive else { return }
            lastCookie += 1
            system.sockets.append(
                .init(
                    cookie: lastCookie,
                    isBlocking: draw(2) == 0,
                    timeLimit: draw(4) == 0 ? .milliseconds(500) : nil,
                    local: address,
                    isBound: address != nil
                )
            )
            // The number of a closed descriptor is given again.
            let used = system.processes[process].descriptors
            let descriptor = (Int32(3)...).first { used[$0] == nil } ?? 3
            system.processes[process].descriptors[descriptor] = system.sockets.count - 1
            call(.connect, process, descriptor, UInt16(1 + lastCookie % 60_000))
        }

        /// A thread that was interrupted calls again, or one asks how far its socket is.
        private func connectAgain() {
            let process = draw(system.processes.count)
            let waiting = Set(system.waiting.values.map(\.socket))
            guard system.processes[process].isAlive,
                let (descriptor, index) = system.processes[process].descriptors.sorted(by: { $0.key < $1.key }).first(
                    where: {
                        system.sockets[$0.value].state == .connecting && !waiting.contains($0.value)
                    })
            else { return }
            call(.connect, process, descriptor, system.sockets[index].target?.port ?? 1)
        }

        /// The first socket that connects and for which no thread waits, with its process and descriptor.
        private func polled() -> (process: Int, descriptor: Int32, socket: Int)? {
            let waiting = Set(system.waiting.values.map(\.socket))
            for process in system.processes.indices where system.processes[process].isAlive {
                let descriptors = system.processes[process].descriptors.sorted { $0.key < $1.key }
                let found = descriptors.first {
                    system.sockets[$0.value].state == .connecting && !waiting.contains($0.value)
                }
                if let found { return (process, found.key, found.value) }
            }
            return nil
        }

        /// A program has its socket under another number (dup(2)), or a child of it has the socket alone (fork(2)).
        private func moveDescriptor() {
            guard let (process, descriptor, socket) = polled() else { return }
            let alive = system.processes.indices.filter { system.processes[$0].isAlive }
            system.processes[process].descriptors[descriptor] = nil
            system.processes[alive[draw(alive.count)]].descriptors[1_000 + Int32(socket)] = socket
        }

        /// A program ends the connect of its socket, by shutdown(2) or AF_UNSPEC, and may begin another one.
        private func dissolve() {
            guard let (process, descriptor, socket) = polled() else { return }
            if draw(2) == 0 { system.dissolve(socket) } else { call(.connect, process, descriptor, nil) }
            system.sockets[socket].isBound = draw(2) == 0
            if draw(3) > 0 { call(.connect, process, descriptor, UInt16(60_001 + draw(1_000))) }
        }

        /// A program closes its socket, and connects another one from the same address.
        private func takeAddressOver() {
            guard let (process, descriptor, socket) = polled() else { return }
            system.processes[process].descriptors[descriptor] = nil
            if !system.isOpen(socket) { connect(from: system.sockets[socket].local) }
        }

        private func interrupt() {
            guard let id = system.waiting.keys.sorted().first else { return }
            if system.holdsSignals { system.signals.insert(id) } else { system.waiting[id] = nil }
        }

        private func closeSocket() {
            let process = draw(system.processes.count)
            let waiting = Set(system.waiting.values.map(\.socket))
            let descriptors = system.processes[process].descriptors.sorted { $0.key < $1.key }
            guard let entry = descriptors.first(where: { !waiting.contains($0.value) }) else { return }
            system.processes[process].descriptors[entry.key] = nil
        }

        private func vanish() {
            let process = draw(system.processes.count)
            system.processes[process].isAlive = false
            for (id, entry) in system.waiting where entry.process == process { system.waiting[id] = nil }
            system.processes[process].descriptors = [:]
            system.processes.append(.init())
        }

        private func ask() {
            let process = draw(system.processes.count)
            guard let descriptor = system.processes[process].descriptors.keys.min() else { return }
            call(draw(2) == 0 ? .peerName : .pendingError, process, descriptor, 1)
        }

        func endDial() {
            let numbers = system.dials.keys.sorted()
            guard !numbers.isEmpty else { return }
            end(numbers[draw(numbers.count)])
        }

        private func end(_ number: UInt64) {
            guard let dial = system.dials.removeValue(forKey: number) else { return }
            switch draw(4) {
            case 0: supervisor.dialEnded(number, .failed([110, 111, 113][draw(3)]), at: now)
            case 1: supervisor.dialEnded(number, .closed, at: now)
            default:
                let isMet = system.connect(dial)
                // The proxy's end may be connected later.
                if draw(4) == 0 {
                    system.dials[number] = dial
                    supervisor.look(at: now)
                    guard system.dials.removeValue(forKey: number) != nil else {
                        if isMet { system.problems.append("a connection was cancelled") }
                        return
                    }
                }
                supervisor.dialEnded(number, .connected, at: now)
            }
        }
    }

    @Test func `whatever comes in whatever order, each connect is answered once and with its own outcome`() {
        for seed in UInt64(1)...10_000 {
            let world = World(seed: seed)
            for _ in 0..<40 { world.step() }
            while !world.system.dials.isEmpty { world.endDial() }
            world.system.starting = [:]
            world.supervisor.lookForThreads(at: world.now)
            world.supervisor.look(at: world.now + .seconds(2))
            world.supervisor.lookForSignals(at: world.now + .seconds(2))
            let system = world.system
            let undecided = system.undecided
            #expect(system.problems.isEmpty, "seed \(seed): \(system.problems)")
            #expect(undecided.isEmpty, "seed \(seed): the sockets \(undecided) connect for ever")
            #expect(system.waiting.isEmpty, "seed \(seed): \(system.waiting.count) threads wait for ever")
            #expect(world.supervisor.count == 0, "seed \(seed)")
            #expect(system.openHandles == 0, "seed \(seed): \(system.openHandles) handles are left open")
            if !system.problems.isEmpty || !undecided.isEmpty || !system.waiting.isEmpty || system.openHandles != 0 {
                return
            }
        }
    }

    /// A program with one process, whose sockets are numbered from 1 and have those numbers as descriptors.
    private final class Program {
        let system: SimulatedPrograms
        let supervisor: ConnectSupervisor
        private var lastCall: UInt64 = 0

        init(seed: UInt64 = 1) {
            system = SimulatedPrograms(seed: seed)
            supervisor = ConnectSupervisor(system, allowsUnproxied: false) { _ in true }
            system.processes.append(.init())
        }

        /// A new socket's number.
        func socket(isBlocking: Bool = true, timeLimit: Duration? = nil, isElsewhere: Bool = false) -> Int {
            let number = system.sockets.count + 1
            system.sockets.append(
                .init(cookie: UInt64(number), isBlocking: isBlocking, timeLimit: timeLimit, isElsewhere: isElsewhere)
            )
            system.processes[0].descriptors[Int32(number)] = number - 1
            return number
        }

        /// Connects a socket, by memory that may be read or is `secret`; returns the number of the call.
        @discardableResult func connect(
            _ socket: Int,
            to host: String = "192.0.2.1",
            at now: Moment = .zero,
            secret: Bool = false,
            isInterrupted: Bool = false
        ) -> UInt64 {
            lastCall += 1
            if isInterrupted { system.interrupted.insert(lastCall) }
            system.addresses[lastCall] = SocketAddress(numericHost: host, port: 80)
            if secret { system.secret.insert(lastCall) }
            call(.connect, socket, at: now)
            return lastCall
        }

        /// Asks for a socket's error; returns the number of the call.
        func ask(_ socket: Int, isInterrupted: Bool = false) -> UInt64 {
            lastCall += 1
            if isInterrupted { system.interrupted.insert(lastCall) }
            call(.pendingError, socket, at: .zero)
            return lastCall
        }

        private func call(_ kind: SupervisedCall.Kind, _ socket: Int, at now: Moment) {
            let call = SupervisedCall(id: lastCall, kind, thread: 0, descriptor: Int32(socket))
            system.waiting[lastCall] = (0, socket - 1, call)
            supervisor.receive(call, at: now)
        }

        /// Ends the youngest dial.
        func endDial(_ outcome: DialOutcome, at now: Moment = .zero) {
            guard let dial = system.dials.keys.max() else { return }
            system.dials[dial] = nil
            supervisor.dialEnded(dial, outcome, at: now)
        }
    }

    @Test func `a connect that can't be redirected fails with EACCES, and the user gets the reason`() {
        let program = Program()
        #expect(program.system.failures[program.connect(program.socket(), secret: true)] == 13)
        #expect(program.system.failures[program.connect(program.socket(isElsewhere: true))] == 13)
        let socket = program.socket()
        program.system.objections[UInt64(socket)] = 99
        #expect(program.system.failures[program.connect(socket)] == 13)
        #expect(
            program.system.notices == [.unproxied(.program(1)), .unproxied(.network), .unproxied(.address)]
        )
    }

    @Test func `a connect returns the kernel's error, and that of the connect before once`() {
        let program = Program()
        let socket = program.socket(isBlocking: false)
        program.system.objections[UInt64(socket)] = 97
        #expect(program.system.failures[program.connect(socket)] == 97)
        #expect(program.system.failures[program.connect(socket)] == 115)
        program.endDial(.failed(113))
        // The kernel knows of the refusal by which the socket was taken back.
        program.system.objections[UInt64(socket)] = 111
        #expect(program.system.failures[program.connect(socket)] == 113)
        #expect(program.system.failures[program.connect(socket)] == 115)
        #expect(program.system.notices.isEmpty)
    }

    @Test func `a call that a signal ends before its answer gets it when it is made again`() {
        let program = Program()
        let socket = program.socket(isBlocking: false)
        program.connect(socket, isInterrupted: true)
        #expect(program.system.failures[program.connect(socket)] == 115)
        #expect(program.system.failures[program.connect(socket)] == 114)
        program.endDial(.failed(113))
        _ = program.ask(socket, isInterrupted: true)
        let again = program.ask(socket)
        #expect(program.system.answered.contains(again) && program.system.told[again] == 113)
        #expect(program.system.told[program.ask(socket)] == nil, "an error is reported once")
    }

    @Test func `a thread for which a signal has come is left to the kernel, and may connect anew`() {
        let program = Program(seed: 3)
        let (system, supervisor) = (program.system, program.supervisor)
        system.holdsSignals = true
        let (own, others) = (program.socket(), program.socket())
        let calls = [program.connect(own), program.connect(others)]
        #expect(supervisor.nextLookForSignals == Moment.zero + ConnectSupervisor.signalInterval)
        supervisor.lookForSignals(at: supervisor.nextLookForSignals)
        #expect(system.answered.isEmpty)
        system.signals = Set(calls)
        supervisor.lookForSignals(at: supervisor.nextLookForSignals)
        #expect(system.left == Set(calls) && system.failures.isEmpty)
        #expect(supervisor.count == 2)
        system.starting = [:]
        let again = program.connect(own)
        #expect(system.dials.count == 2)
        for _ in 0..<2 { program.endDial(.failed(113)) }
        #expect(system.failures == [again: 113] && system.sockets[others - 1].state == .closed)
        #expect(system.problems.isEmpty)
    }

    @Test func `a connect is refused when the thread that was left to the kernel has begun its own`() {
        let program = Program(seed: 3)
        let (system, supervisor) = (program.system, program.supervisor)
        system.holdsSignals = true
        let sockets = [program.socket(), program.socket()]
        let calls = sockets.map { program.connect($0) }
        system.signals = Set(calls)
        supervisor.lookForSignals(at: .zero)
        #expect(system.starting.count == 2)
        for _ in sockets { program.endDial(.failed(113)) }
        #expect(sockets.allSatisfy { system.sockets[$0 - 1].state == .connecting })
        // It connects anew.
        let again = program.connect(sockets[1])
        #expect(system.failures[again] == 113 && system.sockets[sockets[1] - 1].state == .closed)
        let soon = Moment.zero + .milliseconds(1)
        #expect(supervisor.nextLookForThreads == soon)
        supervisor.lookForThreads(at: soon)
        #expect(supervisor.nextLookForThreads == .zero + .milliseconds(2) && supervisor.count == 1)
        system.starting = [:]
        supervisor.lookForThreads(at: .zero + .milliseconds(2))
        #expect(sockets.allSatisfy { system.sockets[$0 - 1].state == .closed } && system.problems.isEmpty)
        #expect(supervisor.nextLookForThreads == .distantFuture && supervisor.count == 0 && system.openHandles == 0)
    }

    @Test func `a thread that runs on doesn't keep a refusal for longer than 100 ms`() {
        let program = Program(seed: 3)
        program.system.holdsSignals = true
        program.system.signals = [program.connect(program.socket())]
        program.supervisor.lookForSignals(at: .zero)
        program.endDial(.failed(113), at: .zero + .milliseconds(99))
        #expect(program.supervisor.count == 1)
        program.supervisor.lookForThreads(at: .zero + .milliseconds(100))
        #expect(program.supervisor.count == 0)
    }

    @Test func `a program that polls by connect(2), and never rests, is refused at once`() {
        let program = Program(seed: 3)
        let socket = program.socket(isBlocking: false)
        program.connect(socket)
        for time in 1...20 {
            let now = Moment.zero + .milliseconds(10 * time)
            #expect(program.system.failures[program.connect(socket, at: now)] == 114)
        }
        program.endDial(.failed(113), at: .zero + .milliseconds(200))
        #expect(program.system.sockets[socket - 1].state == .closed && program.supervisor.count == 0)
        #expect(program.system.problems.isEmpty)
    }

    @Test(arguments: [
        ("127.0.0.5", "0.0.0.0", "127.0.0.5"), (nil, "0.0.0.0", "127.0.0.1"), ("::1", "::", "::1"), (nil, "::", "::1"),
        ("::ffff:127.0.0.5", "::", "::ffff:127.0.0.1"), ("::ffff:127.0.0.5", "::ffff:0.0.0.0", "::ffff:127.0.0.5"),
        ("127.0.0.5", "192.0.2.1", "192.0.2.1"),
    ]) func `a connect to the unspecified address reaches the one that the kernel takes`(
        own: String?,
        named: String,
        reached: String
    ) throws {
        let program = Program(seed: 3)
        let socket = program.socket(isBlocking: false)
        program.system.sockets[socket - 1].local = own.flatMap { SocketAddress(numericHost: $0, port: 1_024) }
        program.system.sockets[socket - 1].isBound = own != nil
        program.connect(socket, to: named)
        let target = try #require(program.system.dials.values.first).target
        #expect(target == SocketAddress(numericHost: reached, port: 80))
    }

    @Test func `a connect that another thread has ended isn't left to the kernel for a signal`() {
        let program = Program(seed: 3)
        program.system.holdsSignals = true
        let socket = program.socket()
        let call = program.connect(socket)
        program.system.signals = [call]
        program.system.dissolve(socket - 1)
        program.supervisor.lookForSignals(at: program.supervisor.nextLookForSignals)
        #expect(program.system.failures == [call: 104] && program.system.dials.isEmpty)
        #expect(program.system.problems.isEmpty)
    }

    @Test func `without descriptors a connect fails with EMFILE`() {
        let program = Program()
        program.system.processError = 24
        #expect(program.system.failures[program.connect(program.socket())] == 24)
        #expect(program.system.notices.isEmpty)
    }

    @Test func `a second connect waits as long as the first, and fails in its own way`() {
        let program = Program(seed: 3)
        let socket = program.socket(timeLimit: .milliseconds(30))
        let first = program.connect(socket)
        program.supervisor.look(at: .zero + .milliseconds(30))
        #expect(program.system.failures[first] == 115)
        let second = program.connect(socket, at: .zero + .milliseconds(35))
        #expect(program.supervisor.nextLook == .zero + .milliseconds(65))
        // Interrupted, and begun again: it waits for the rest.
        program.system.waiting[second] = nil
        let third = program.connect(socket, at: .zero + .milliseconds(50))
        #expect(program.supervisor.nextLook == .zero + .milliseconds(65))
        program.supervisor.look(at: .zero + .milliseconds(65))
        #expect(program.system.failures[third] == 114)
    }

    @Test func `the errors that nobody asks for make room for those of younger sockets`() {
        let program = Program(seed: 3)
        var last = 0
        for _ in 0...ConnectSupervisor.limit {
            last = program.socket(isBlocking: false)
            program.connect(last)
            program.endDial(.failed(113))
        }
        let asked = program.ask(last)
        #expect(program.system.answered.contains(asked))
        #expect(program.system.told[asked] == 113)
    }

    @Test func `connects are looked after in time, however many others begin`() {
        let program = Program(seed: 3)
        let (system, supervisor) = (program.system, program.supervisor)
        var now = Moment.zero
        for id in 1...20 {
            program.connect(program.socket(timeLimit: id == 2 ? .milliseconds(30) : nil), at: now)
            now = now + .milliseconds(4)
        }
        // The time limit of the second, which has begun after 4 ms.
        #expect(supervisor.nextLook == .zero + .milliseconds(34))
        supervisor.look(at: .zero + .milliseconds(34))
        #expect(system.answered.contains(2))
        #expect(supervisor.nextLook == .zero + .milliseconds(134))
    }

    @Test func `one connect more than are kept track of fails, and one is let in when another has ended`() throws {
        let program = Program()
        let (system, supervisor) = (program.system, program.supervisor)
        func connect() { program.connect(program.socket()) }
        while supervisor.count < ConnectSupervisor.limit { connect() }
        let before = system.answered.count
        connect()
        #expect(system.answered.count == before + 1)
        let dial = try #require(system.dials.keys.min())
        system.dials[dial] = nil
        supervisor.dialEnded(dial, .failed(111), at: .zero)
        let dials = system.dials.count
        while system.dials.count == dials { connect() }
        #expect(supervisor.count == ConnectSupervisor.limit)
    }

    @Test func `sockets that their program has closed make room`() {
        let program = Program()
        while program.supervisor.count < ConnectSupervisor.limit { program.connect(program.socket(isBlocking: false)) }
        program.system.processes[0].descriptors = [:]
        #expect(program.system.failures[program.connect(program.socket(isBlocking: false))] == 11)
        let late = program.connect(program.socket(isBlocking: false), at: .zero + .milliseconds(100))
        #expect(program.system.failures[late] == 115)
        #expect(program.supervisor.count == 1)
    }
}
