import EventLoop
import FaultPlan
import FaultProfile
import StreamReading
import TestSockets
import Testing
import Units

@testable import ProxyEngine

struct LinkPumpTests {
    /// Runs a pump when its source has something, and keeps what came of each run.
    private final class Runner: LoopHandler, LoopShutdownHandler {
        let source: StreamSocket
        let sink: StreamSocket
        private let reader: StreamReader
        private var pump: LinkPump
        private var outcomes: [String] = []
        var whenOver: (([String]) -> Void)?

        init(_ source: StreamSocket, _ sink: StreamSocket, _ plan: ConnectionPlan) {
            self.source = source
            self.sink = sink
            reader = StreamReader(plan.reading)
            pump = LinkPump(plan.downstream)
            super.init()
            source.watch(by: self, tag: 0)
            sink.watch(by: self, tag: 1)
        }

        override func socketIsReady(_ tag: Int) {
            // The bytes may be there before the loop has said so.
            guard let whenOver, source.isReadable, source.receivable() >= 100, sink.isWritable else { return }
            switch pump.run(from: source, to: sink, reader: reader, now: source.loop.now).outcome {
            case .waiting: outcomes.append("waiting after \(pump.link.delivered)")
            case .again: outcomes.append("again after \(pump.link.delivered)")
            case .ended(let ending): outcomes.append("\(ending) after \(pump.link.delivered)")
            case .sinkBroken: outcomes.append("broken after \(pump.link.delivered)")
            }
            self.whenOver = nil
            pump.close(source.loop)
            source.close()
            sink.close()
            source.loop.deferRelease(self)
            source.loop.remove(self)
            whenOver(outcomes)
        }

        func loopWillEnd() {}
    }

    /// What comes of the first run of a link with slices of a byte and these faults, in front of which 100 bytes wait.
    private func firstRun(_ faults: [FaultKind]) async throws -> [String] {
        let loops = try EventLoopGroup(count: 1)
        let loop = loops.loops[0]
        let (left, leftAddress) = TestSocket.listening()
        let (right, rightAddress) = TestSocket.listening()
        async let peers = blocking {
            let writer = try left.accepted()
            try writer.send([UInt8](repeating: 7, count: 100))
            return (writer, try right.accepted())
        }
        let outcomes: [String] = await withCheckedContinuation { continuation in
            loop.post {
                let profile = Profile(faults + [.slice(Slice(size: ByteCount(1)))], on: .downstream)
                var admitter = Admitter(Plan(profile: profile, seed: 1, proxy: "test", start: loop.now))
                guard let source = try? StreamSocket(connectingTo: leftAddress, on: loop),
                    let sink = try? StreamSocket(connectingTo: rightAddress, on: loop)
                else { return continuation.resume(returning: []) }
                let runner = Runner(source, sink, admitter.accept(at: loop.now))
                runner.whenOver = { continuation.resume(returning: $0) }
                loop.add(runner)
            }
        }
        _ = try await peers
        await loops.stop()
        return outcomes
    }

    @Test func `a run goes on for eight rounds, and then others have their turn`() async throws {
        let outcomes = try await firstRun([])
        #expect(outcomes == ["again after 8"])
    }

    @Test(arguments: [7, 8]) func `an end that is due isn't left for another run`(offset: Int64) async throws {
        let outcomes = try await firstRun([.cut(Cut(position: .at(ByteCount(offset)), how: .silence))])
        #expect(outcomes == ["cut(FaultProfile.Cut.Ending.silence) after \(offset)"])
    }
}
