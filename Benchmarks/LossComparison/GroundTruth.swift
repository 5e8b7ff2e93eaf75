import FaultProfile

/// What real senders did: Linux 6.18 between two network namespaces, joined by a program that delays and drops
/// packets; 100 Mbit/s, a queue of 200 packets, samples of 18 s, one for each figure, so within some 20 %.
enum GroundTruth {
    /// The link of the measurements, in bits per second.
    static let link: Int64 = 100_000_000
    /// The round trips, in milliseconds.
    static let roundTrips = [20, 50, 100]
    /// The losses, in percent.
    static let losses = [0.1, 1, 2, 5, 10]

    /// Mbit/s by loss and round trip, in the order of `losses` and `roundTrips`.
    static func goodput(of sender: Loss.Sender) -> [[Double]] {
        switch sender {
        case .cubic: [[19.6, 10.3, 9.9], [6.3, 2.1, 1.2], [3.7, 1.6, 1.2], [1.9, 0.88, 0.53], [0.99, 0.55, 0.33]]
        case .reno: [[23.3, 7.1, 4.3], [6.8, 3.0, 1.6], [4.2, 2.0, 0.9], [2.4, 0.94, 0.61], [1.5, 0.67, 0.34]]
        case .bbr: [[95, 95, 92], [95, 95, 92], [94, 84, 85], [92, 91, 75], [87, 86, 65]]
        }
    }

    /// The share of time that a receiver waited for more than 1.5 round trips, in percent, by loss: CUBIC, 50 ms, means of 7
    /// to 16 flows of 30 s.
    static let stallShares = [0.1, 3.5, 8.2, 19.7, 36.3]
    /// CUBIC at 50 ms and 1 % in bursts of 5, Mbit/s: the median of 24 flows of 30 s, which were between 1.5 and 9.2.
    static let burstsOfFive = 7.2
    /// The longest gap that CUBIC's receiver saw at 50 ms, by the length of an outage in both directions, in seconds: 5 flows
    /// each, with a queue of 20 packets (`loss_lab.py outages`).
    static let outages: [(length: Double, gap: ClosedRange<Double>)] = [
        (1, 2.01...2.07), (2, 4.00...4.25), (5, 8.15...8.35), (10, 16.4...16.7),
    ]
}
