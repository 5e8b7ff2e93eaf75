import FaultPlan
import FaultProfile

/// What a forecast costs, in steps, so that it ends in time: a step is a question to a link without a fault.
///
/// Counted and not measured, so that the same forecast ends at the same point everywhere.
struct ForecastCost {
    /// A question to a link: more with every fault.
    let question: Int
    /// To find out whether something has changed, and when it does next: more with every fault and phase.
    let change: Int
    /// To accept a connection.
    let acceptance: Int
    /// To tell of a fault that acts.
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
    /// What it adds to a question, in quarters of a step.
    fileprivate var weight: Int {
        switch self {
        case .bandwidth(let bandwidth):
            switch bandwidth.course {
            case .steady: 1
            case .steps: 4
            case .wave: 32
            }
        case .trace: 4
        default: 1
        }
    }
}
