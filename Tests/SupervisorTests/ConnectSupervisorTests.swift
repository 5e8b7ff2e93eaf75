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
            supervisor = ConnectSupervisor(system, allowsUnproxied: false) { _ in true }
            for _ in 0..<3 { system.processes.append(.init()) }
        }

        func draw(_ count: Int) -> Int { Int(system.generator.next() % UInt64(count)) }

        func step() {
            switch draw(9) {
            case 0, 1, 2: connect()
            case 3: connectAgain()
            case 4: interrupt()
            case 5: closeSocket()
            case 6: if draw(12) == 0 { vanish() }
            case 7: ask()
            default: endDial()
            }
            now = now.advanced(byNanoseconds: Int64(draw(400_000_000)))
            if now >= supervisor.nextLook || draw(3) == 0 { supervisor.look(at: now) }
        }

        private func call(_ kind: SupervisedCall.Kind, _ process: Int, _ descriptor: Int32, _ target: UInt16) {
            lastCall += 1
            let call = SupervisedCall(id: lastCall, kind, thread: Int32(process), descriptor: descriptor)
            let index = system.processes[process].descriptors[descriptor] ?? 0
            system.addresses[lastCall] = SocketAddress(numericHost: "192.0.2.1", port: target)
            system.waiting[lastCall] = (process, index, call)
            supervisor.receive(call, at: now)
        }

        private func connect() {
            let process = draw(system.processes.count)
            guard system.processes[process].isAlive else { return }
            lastCookie += 1
            system.sockets.append(
                .init(
                    cookie: lastCookie,
                    isBlocking: draw(2) == 0,
                    timeLimit: draw(4) == 0 ? .milliseconds(500) : nil
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

        private func interrupt() {
            guard let id = system.waiting.keys.sorted().first else { return }
            system.waiting[id] = nil
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
            let number = numbers[draw(numbers.count)]
            guard let dial = system.dials.removeValue(forKey: number) else { return }
            switch draw(4) {
            case 0: supervisor.dialEnded(number, .failed([110, 111, 113][draw(3)]))
            case 1: supervisor.dialEnded(number, .closed)
            default:
                system.connect(dial.local)
                supervisor.dialEnded(number, .connected)
            }
        }
    }

    @Test func `whatever comes in whatever order, each connect is answered once and with its own outcome`() {
        for seed in UInt64(1)...10_000 {
            let world = World(seed: seed)
            for _ in 0..<40 { world.step() }
            while !world.system.dials.isEmpty { world.endDial() }
            world.supervisor.look(at: world.now + .seconds(2))
            let system = world.system
            #expect(system.problems.isEmpty, "seed \(seed): \(system.problems)")
            #expect(system.waiting.isEmpty, "seed \(seed): \(system.waiting.count) threads wait for ever")
            #expect(world.supervisor.count == 0, "seed \(seed)")
            #expect(system.openHandles == 0, "seed \(seed): \(system.openHandles) handles are left open")
            if !system.problems.isEmpty || !system.waiting.isEmpty || system.openHandles != 0 { return }
        }
    }

    @Test func `connects are looked after in time, however many others begin`() {
        let system = SimulatedPrograms(seed: 3)
        let supervisor = ConnectSupervisor(system, allowsUnproxied: false) { _ in true }
        system.processes.append(.init())
        var now = Moment.zero
        for id in UInt64(1)...20 {
            system.sockets.append(.init(cookie: id, isBlocking: true, timeLimit: id == 2 ? .milliseconds(300) : nil))
            system.processes[0].descriptors[Int32(id)] = system.sockets.count - 1
            system.addresses[id] = SocketAddress(numericHost: "192.0.2.1", port: 80)
            let call = SupervisedCall(id: id, .connect, thread: 0, descriptor: Int32(id))
            system.waiting[id] = (0, system.sockets.count - 1, call)
            supervisor.receive(call, at: now)
            now = now + .milliseconds(40)
        }
        // The time limit of the second, which has begun after 40 ms.
        #expect(supervisor.nextLook == .zero + .milliseconds(340))
        supervisor.look(at: .zero + .milliseconds(340))
        #expect(system.answered.contains(2))
        #expect(supervisor.nextLook == .zero + .milliseconds(1_340))
    }

    @Test func `one connect more than are kept track of fails, and one is let in when another has ended`() throws {
        let system = SimulatedPrograms(seed: 1)
        let supervisor = ConnectSupervisor(system, allowsUnproxied: false) { _ in true }
        system.processes.append(.init())
        var id: UInt64 = 0
        func connect() {
            id += 1
            system.sockets.append(.init(cookie: id, isBlocking: true))
            system.processes[0].descriptors[Int32(id)] = system.sockets.count - 1
            system.addresses[id] = SocketAddress(numericHost: "192.0.2.1", port: 80)
            let call = SupervisedCall(id: id, .connect, thread: 0, descriptor: Int32(id))
            system.waiting[id] = (0, system.sockets.count - 1, call)
            supervisor.receive(call, at: .zero)
        }
        while supervisor.count < ConnectSupervisor.limit { connect() }
        let before = system.answered.count
        connect()
        #expect(system.answered.count == before + 1)
        let dial = try #require(system.dials.keys.min())
        system.dials[dial] = nil
        supervisor.dialEnded(dial, .failed(111))
        let dials = system.dials.count
        while system.dials.count == dials { connect() }
        #expect(supervisor.count == ConnectSupervisor.limit)
    }
}
