import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

@Suite("A slow reader")
struct SlowReaderTests {
    private func fault(_ bytesPerSecond: Int64, window: Int64? = nil, name: String = "slow-reader") -> Fault {
        let reader = SlowReader(rate: .bytesPerSecond(bytesPerSecond), window: window.map(ByteCount.init))
        return Fault(name: name, kind: .slowReader(reader))
    }

    @Test
    func `takes bytes at its rate and none ahead`() {
        var pump = Pump(.with(fault(50_000)), waiting: nil)
        for second in 1...5 as ClosedRange<Int64> {
            pump.run(until: .seconds(second))
            #expect(pump.link.arrived == 50_000 * second)
            #expect(pump.link.held == 0)
        }
        #expect(pump.events == [FaultEvent(fault: 0, offset: nil, effect: .limits)])
        #expect(pump.violations.isEmpty)
    }

    @Test
    func `saves nothing up while nobody sends`() {
        var pump = Pump(.with(fault(50_000)), waiting: 100)
        pump.run(until: .seconds(60))
        pump.waiting = nil
        pump.run(until: .seconds(61))
        #expect(pump.link.delivered == 50_100)
    }

    @Test
    func `bounds the window of its directions, by the smallest of several`() {
        var admitter = Admitter.of(
            .of([
                fault(1, window: 16_384).on(.downstream), fault(1, window: 8_192, name: "b").on(.downstream),
                fault(1, name: "c"),
            ])
        )
        #expect(admitter.accept(at: .zero).receiveWindow == [.downstream: ByteCount(8_192)])
        var both = Admitter.of(.of([fault(1, window: 4_096).when(Condition(connections: .range(2...2)))]))
        #expect(both.accept(at: .zero).receiveWindow.isEmpty)
        #expect(both.accept(at: .zero).receiveWindow == [.upstream: ByteCount(4_096), .downstream: ByteCount(4_096)])
    }
}
