import FaultPlan
import FaultProfile
import SimulatedLink
import Units

/// A transfer in virtual time, from a source that never runs dry to a sink that takes everything.
struct Transfer {
    /// Mbit/s.
    let goodput: Double
    /// The share of time, in percent, in gaps of more than 1.5 round trips.
    let stallShare: Double
    /// The longest gap, in seconds.
    let longestGap: Double

    /// Runs `faults` and `phases` for `seconds`, after `begin` seconds that don't count.
    init(_ faults: [Fault], phases: [Phase] = [], seed: UInt64, begin: Double = 0, seconds: Double, roundTrip: Double) {
        let profile = Profile(name: "comparison", faults: faults, phases: phases)
        var admitter = Admitter(Plan(profile: profile, seed: seed, proxy: "comparison", start: .zero))
        let link = admitter.accept(at: .zero).downstream
        var simulation = LinkSimulation(link, arrivals: [.init(at: .zero, bytes: 1 << 50)])
        simulation.run(until: Moment(nanoseconds: Int64((begin + seconds) * 1e9)))
        var last = begin
        var before: Int64 = 0
        var stalled = 0.0
        var longest = 0.0
        for delivery in simulation.deliveries {
            let moment = Double(delivery.moment.nanoseconds) / 1e9
            guard moment >= begin else {
                before = delivery.offset
                continue
            }
            let gap = moment - last
            if gap > 1.5 * roundTrip { stalled += gap }
            longest = max(longest, gap)
            last = moment
        }
        goodput = Double(simulation.link.delivered - before) * 8 / seconds / 1e6
        stallShare = stalled / seconds * 100
        longestGap = longest
    }

    /// The transfers of some seeds through a loss.
    static func all(
        loss percent: Double,
        burst: Int = 1,
        roundTrip milliseconds: Int,
        sender: Loss.Sender,
        after begin: Double = 0
    ) -> [Transfer] {
        let loss = Loss(
            rate: Probability(percent / 100) ?? .never,
            burst: burst,
            roundTrip: .milliseconds(milliseconds),
            sender: sender,
            link: BitRate(bitsPerSecond: GroundTruth.link)
        )
        return (1...9).map { seed in
            Transfer(
                [Fault(name: "loss", stream: .downstream, kind: .loss(loss))],
                seed: seed,
                begin: begin,
                seconds: sender == .bbr ? 20 : 60,
                roundTrip: Double(milliseconds) / 1_000
            )
        }
    }

    /// A transfer through an outage by silence from 1 s on, that recovers as TCP does.
    static func outage(of length: Double, seed: UInt64) -> Transfer {
        let outage = Outage(how: .silence, recovery: .tcpBackoff(roundTrip: .milliseconds(50)))
        let rate = Bandwidth(rate: BitRate(bitsPerSecond: GroundTruth.link))
        let phases = [
            Phase(name: "there", duration: .seconds(1)),
            Phase(
                name: "gone",
                duration: .milliseconds(Int64(length * 1_000)),
                faults: [Fault(name: "outage", kind: .outage(outage))]
            ),
            Phase(name: "back"),
        ]
        let faults = [Fault(name: "rate", kind: .bandwidth(rate))]
        return Transfer(faults, phases: phases, seed: seed, seconds: 4 * length + 5, roundTrip: 0.05)
    }
}

extension [Transfer] {
    /// The median of one of their figures.
    func median(_ figure: (Transfer) -> Double) -> Double { map(figure).sorted()[count / 2] }
}
