import FaultPlan
import FaultProfile
import Foundation
import SimulatedLink
import Units

/// Writes what the model delivers in virtual time, in the format of the loss lab: `loss-comparison --deliveries SENDER LOSS
/// ROUND-TRIP BURST`, the loss in percent and the round trip in milliseconds.
struct Deliveries {
    /// The bulk transfers, their length in seconds, and the short ones of each size.
    private static let transfers: UInt64 = 24
    private static let seconds = 30
    private static let shortTransfers: UInt64 = 200
    private static let sizes: [Int64] = [10_000, 100_000, 1_000_000]
    /// The queue of the lab's link: 200 packets.
    private static let queue = ByteCount(200 * 1_514)

    private let loss: Loss
    private let percent: Double
    private let milliseconds: Int64

    init?(_ arguments: [String]) {
        guard arguments.count == 4, let sender = Loss.Sender(rawValue: arguments[0]),
            let percent = Double(arguments[1]),
            let rate = Probability(percent / 100), let milliseconds = Int64(arguments[2]), let burst = Int(arguments[3])
        else { return nil }
        self.percent = percent
        self.milliseconds = milliseconds
        loss = Loss(
            rate: rate,
            burst: burst,
            roundTrip: .milliseconds(milliseconds),
            sender: sender,
            link: BitRate(bitsPerSecond: GroundTruth.link),
            queue: Self.queue
        )
    }

    func write() {
        for transfer in 1...Self.transfers { bulk(firstSeed + transfer) }
        for size in Self.sizes {
            for transfer in 1...Self.shortTransfers { short(size, firstSeed + transfer) }
        }
    }

    /// Each cell has losses of its own.
    private var firstSeed: UInt64 { UInt64(milliseconds * 1_000) }

    private func deliveries(_ bytes: Int64, _ seed: UInt64, until end: Moment) -> [LinkSimulation.Delivery] {
        let fault = Fault(name: "loss", stream: .downstream, kind: .loss(loss))
        let profile = Profile(name: "comparison", faults: [fault], phases: [])
        var admitter = Admitter(Plan(profile: profile, seed: seed, proxy: "comparison", start: .zero))
        var simulation = LinkSimulation(
            admitter.accept(at: .zero).downstream,
            arrivals: [.init(at: .zero, bytes: bytes)]
        )
        simulation.run(until: end)
        return simulation.deliveries
    }

    private func bulk(_ seed: UInt64) {
        var last: Int64 = 0
        let list = deliveries(1 << 50, seed, until: Moment(nanoseconds: Int64(Self.seconds) * 1_000_000_000)).map {
            delivery in
            defer { last = delivery.offset }
            // Everything comes half a round trip after the request, and another half after it was sent.
            let moment = Double(delivery.moment.nanoseconds) / 1e6 + Double(milliseconds)
            return "[\(String(format: "%.3f", moment)),\(delivery.offset - last)]"
        }
        print(#"{\#(head),"kind":"bulk","seconds":\#(Self.seconds),"deliveries":[\#(list.joined(separator: ","))]}"#)
    }

    /// A transfer of `size` bytes behind the 8 with which the lab's server begins.
    private func short(_ size: Int64, _ seed: UInt64) {
        guard let last = deliveries(size + 8, seed, until: Moment(nanoseconds: 300_000_000_000)).last,
            last.offset == size + 8
        else { return }
        let time = Double(last.moment.nanoseconds) / 1e9 + Double(milliseconds) / 1e3
        print(#"{\#(head),"kind":"\#(size)","time":\#(time)}"#)
    }

    private var head: String {
        #""sender":"\#(loss.sender.rawValue)","loss":\#(percent),"roundTrip":\#(milliseconds),"burst":\#(loss.burst)"#
    }
}
