import FaultPlan
import FaultProfile

/// The cost of a forecast in steps, so that it ends in time: a step is a call to a link without faults.
///
/// Counted and not measured, so that a forecast ends at the same point on every machine.
struct ForecastCost {
    /// The cost of a call to a link; grows with the faults.
    let question: Int
    /// The cost of finding the next change; grows with faults and phases.
    let change: Int
    /// The cost of accepting a connection.
    let acceptance: Int
    /// The cost of a fault event.
    let event: Int

    init(_ plan: Plan) {
        let faults = plan.faults.count
        question = 1 + plan.faults.reduce(0) { $0 + $1.kind.weight } / 4
        change = 10 + (faults + plan.profile.phases.count) / 2
        acceptance = 10 + 16 * faults
        event = 10 + faults / 2
    }
}

extension FaultKind {
    /// The fault's share of a call, in quarters of a step.
    fileprivate var weight: Int {
        switch self {
        case .bandwidth(let bandwidth):
            switch bandwidth.variation {
            case .steady: 1
            case .steps: 4
            case .wave: 32
            }
        case .trace: 4
        default: 1
        }
    }
}
