import FaultPlan
import FaultProfile
import SimulatedLink
import Testing
import Units

@Suite("A loss of acknowledgements")
struct AcknowledgementLossTests {
    private static let link = BitRate(bitsPerSecond: 100_000_000)

    /// A loss of what the client sends, the acknowledgements of a download among it.
    private func fault(
        _ rate: Double,
        _ roundTrip: Int = 50,
        _ sender: Loss.Sender = .cubic,
        burst: Int = 1,
        on stream: StreamSelection = .upstream
    ) throws -> Fault {
        .loss(try #require(Probability(rate)), burst: burst, roundTrip, sender, link: Self.link).on(stream)
    }

    private func download(_ fault: Fault, seconds: Int64, seed: UInt64 = 1) -> LinkSimulation {
        var admitter = Admitter.of(.of([fault]), seed: seed)
        var simulation = LinkSimulation(
            admitter.accept(at: .zero).downstream,
            arrivals: [.init(at: .zero, bytes: 1 << 50)]
        )
        simulation.run(until: .seconds(seconds))
        return simulation
    }

    @Test(arguments: [Loss.Sender.reno, .cubic, .bbr], [1, 4])
    func `costs a download little while some of them come`(sender: Loss.Sender, burst: Int) throws {
        let whole = download(try fault(0, 50, sender), seconds: 10).link.delivered
        let thinned = download(try fault(0.1, 50, sender, burst: burst), seconds: 10).link.delivered
        #expect(Double(thinned) > 0.9 * Double(whole), "\(thinned) of \(whole)")
        #expect(thinned <= whole)
    }

    @Test(arguments: [Loss.Sender.reno, .cubic, .bbr])
    func `has a sender wait for a probe or its timer when all of a round trip are lost`(sender: Loss.Sender) throws {
        var longest: [Double] = []
        for seed in 1...10 as ClosedRange<UInt64> {
            let simulation = download(try fault(0.9, 50, sender), seconds: 10, seed: seed)
            let moments = simulation.deliveries.map { Double($0.moment.nanoseconds) / 1e6 }
            longest.append(zip(moments.dropFirst(), moments).map { $0 - $1 }.max() ?? 0)
            #expect(simulation.link.delivered >= 10 * 1_448)
            #expect(simulation.events.isEmpty, "no byte of the download was lost")
        }
        // A probe comes after two round trips, a timer after 200 ms more than one. A third of the first windows wait.
        #expect((2...9).contains(longest.count { $0 > 100 }), "\(longest)")
    }

    @Test(arguments: [Loss.Sender.reno, .cubic, .bbr], [0.3, 0.9])
    func `passes every byte, in order, and the end behind them`(sender: Loss.Sender, rate: Double) throws {
        for stream in [StreamSelection.upstream, .both] {
            var admitter = Admitter.of(.of([try fault(stream == .both ? 0.2 : rate, 10, sender, on: stream)]))
            var pump = Pump(admitter.accept(at: .zero).downstream, waiting: 300_000)
            pump.end = .finish
            pump.run(until: .seconds(1_000_000))
            #expect(pump.ended == .finish, "\(stream)")
            #expect(pump.link.delivered == 300_000)
            #expect(pump.violations.isEmpty)
        }
    }

    @Test
    func `doesn't delay small messages, which have arrived`() throws {
        let arrivals = (0..<100).map { LinkSimulation.Arrival(at: .seconds(Int64($0)), bytes: 100) }
        var admitter = Admitter.of(.of([try fault(0.3)]))
        var simulation = LinkSimulation(admitter.accept(at: .zero).downstream, arrivals: arrivals)
        simulation.run()
        let onTime = simulation.deliveries.count { $0.moment.nanoseconds % 1_000_000_000 == 0 }
        #expect(onTime >= 97, "\(onTime) of 100")
        #expect(simulation.link.delivered == 10_000)
    }

    @Test
    func `leaves the packets that are lost as they are`() throws {
        func events(_ stream: StreamSelection) throws -> [FaultEvent] {
            var admitter = Admitter.of(.of([try fault(0.02, on: stream)]))
            var simulation = LinkSimulation(
                admitter.accept(at: .zero).downstream,
                arrivals: [.init(at: .zero, bytes: 3_000_000)]
            )
            simulation.run()
            return simulation.events
        }
        #expect(try events(.both) == events(.downstream))
        #expect(try events(.both).map(\.effect) == [.loses])
        #expect(try events(.upstream).isEmpty)
    }

    @Test
    func `takes as long whatever the reads`() throws {
        for sender in [Loss.Sender.reno, .cubic, .bbr] {
            let ends = try [1 << 20, 64_000, 1_000].map { readSize in
                var admitter = Admitter.of(.of([try fault(0.6, 20, sender)]))
                var simulation = LinkSimulation(
                    admitter.accept(at: .zero).downstream,
                    arrivals: [.init(at: .zero, bytes: 2_000_000)],
                    readSize: Int64(readSize)
                )
                simulation.run()
                return simulation.now
            }
            #expect(Set(ends).count == 1, "\(sender): \(ends)")
        }
    }

    @Test
    func `isn't one of messages that are picked out`() throws {
        let condition = Condition(http: HTTPCondition(path: TextPattern("/slow")))
        var admitter = Admitter.of(.of([try fault(0.5).when(condition)]))
        let connection = admitter.accept(at: .zero)
        var simulation = LinkSimulation(connection.downstream, arrivals: [.init(at: .zero, bytes: 1_000_000)])
        simulation.run()
        #expect(simulation.now == .zero)
    }
}
