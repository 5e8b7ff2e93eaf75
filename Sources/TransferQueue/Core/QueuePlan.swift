/// What the queue can't know by itself.
package struct QueueConditions {
    /// The time.
    package var now: QueueTime
    /// How far the local clock is ahead of UTC.
    package var offset: Duration
    /// Whether a route leads to an origin.
    package var isReachable: (_ origin: String) -> Bool
    /// The cost of the network to an origin.
    package var cost: (_ origin: String) -> QueueNetworkCost
    /// Whether the machine is on mains power, or has no battery.
    package var isOnMains: Bool

    /// Makes conditions, by default those in which everything may run.
    package init(
        now: QueueTime,
        offset: Duration = .zero,
        isReachable: @escaping (_ origin: String) -> Bool = { _ in true },
        cost: @escaping (_ origin: String) -> QueueNetworkCost = { _ in [] },
        isOnMains: Bool = true
    ) {
        self.now = now
        self.offset = offset
        self.isReachable = isReachable
        self.cost = cost
        self.isOnMains = isOnMains
    }
}

/// The cost of a network.
public struct QueueNetworkCost: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: Int
    /// Makes a cost from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Its bytes cost money, as those of mobile broadband may.
    public static let expensive = QueueNetworkCost(rawValue: 1)
    /// Its user wants to transfer little.
    public static let constrained = QueueNetworkCost(rawValue: 2)
}

/// Where a job stands.
package struct QueuePosition: Hashable, Sendable {
    package var phase: QueuePhase
    package var reason: QueueReason?
    package var message: String?
    /// When that changes by itself, if that is known.
    package var until: QueueTime?
}

extension QueuePosition {
    /// Where a job stands that nothing else is in the way of.
    init(_ job: QueueJob) { self.init(phase: job.phase, reason: job.reason, message: job.message) }
}

/// What to do now.
package struct QueuePlan: Hashable, Sendable {
    /// The jobs to start, in order.
    package var start: [QueueJobID] = []
    /// The running jobs to stop.
    package var stop: Set<QueueJobID> = []
    /// The jobs whose time limit has passed.
    package var expired: [QueueJobID] = []
    /// Where each job stands after that.
    package var positions: [QueueJobID: QueuePosition] = [:]
    /// When to plan again, if nothing happens before.
    package var wake: QueueTime?
    /// Whether an unfinished job depends on the network, and whether one depends on the power supply.
    package var (dependsOnNetwork, dependsOnPower) = (false, false)
}

extension QueueState {
    /// Says which jobs are to run.
    ///
    /// - Parameters:
    ///   - running: The jobs that run now.
    ///   - conditions: What the queue can't know by itself.
    package func plan(running: Set<QueueJobID>, _ conditions: QueueConditions) -> QueuePlan {
        var plan = QueuePlan()
        var ready: [QueueJob] = []
        var kept: [QueueJob] = []
        for job in jobs.values {
            let isRunning = running.contains(job.id)
            guard job.isActive else {
                plan.positions[job.id] = QueuePosition(job)
                if isRunning { plan.stop.insert(job.id) }
                continue
            }
            if case .needing = job.stage {
            } else {
                plan.dependsOnNetwork = true
                if job.transfer.isDiscretionary { plan.dependsOnPower = true }
            }
            plan.wakes(at: job.deadline, after: conditions.now)
            if job.deadline <= conditions.now {
                plan.expired.append(job.id)
                if isRunning { plan.stop.insert(job.id) }
                continue
            }
            if let obstacle = obstacle(to: job, isRunning: isRunning, conditions) {
                plan.positions[job.id] = obstacle
                plan.wakes(at: obstacle.until, after: conditions.now)
                if isRunning { plan.stop.insert(job.id) }
            } else {
                if isRunning { kept.append(job) } else { ready.append(job) }
                if let window = job.transfer.window {
                    let edge = window.state(at: conditions.now, offset: conditions.offset).changesAt
                    plan.wakes(at: edge, after: conditions.now)
                }
            }
        }
        plan.expired.sort()
        plan.fill(ready.sorted { isBefore($0, $1, conditions) }, kept, limits)
        return plan
    }

    /// What is in the way of a job, apart from others; `nil` if nothing is.
    private func obstacle(to job: QueueJob, isRunning: Bool, _ conditions: QueueConditions) -> QueuePosition? {
        let (now, transfer) = (conditions.now, job.transfer)
        switch job.stage {
        case .needing(let reason, let message):
            return QueuePosition(phase: .waiting, reason: reason, message: message)
        case .retrying(let reason, let message, let time):
            // A clock that was set back doesn't make anybody wait for years.
            let longest = max(limits.longestRetry, QueueLimits.longestServerWait)
            if !isRunning, time > now, time - now <= longest {
                // It goes on when a route comes back.
                if [.retry, .tls].contains(reason), !conditions.isReachable(job.origin) {
                    return QueuePosition(phase: .waiting, reason: .network)
                }
                return QueuePosition(phase: .waiting, reason: reason, message: message, until: time)
            }
        case .active, .paused, .completed, .failed, .cancelled: break
        }
        if !isRunning, let begin = transfer.earliestBegin, begin > now {
            return QueuePosition(phase: .waiting, reason: .earliestBegin, until: begin)
        }
        if let window = transfer.window {
            let (isOpen, change) = window.state(at: now, offset: conditions.offset)
            if !isOpen { return QueuePosition(phase: .waiting, reason: .window, until: change) }
        }
        if transfer.isDiscretionary, !conditions.isOnMains { return QueuePosition(phase: .waiting, reason: .power) }
        guard conditions.isReachable(job.origin) else { return QueuePosition(phase: .waiting, reason: .network) }
        if !transfer.allowsExpensive || !transfer.allowsConstrained {
            let cost = conditions.cost(job.origin)
            if !transfer.allowsExpensive, cost.contains(.expensive) {
                return QueuePosition(phase: .waiting, reason: .expensive)
            }
            if !transfer.allowsConstrained, cost.contains(.constrained) {
                return QueuePosition(phase: .waiting, reason: .constrained)
            }
        }
        return nil
    }

    /// The order in which jobs start: by priority, discretionary ones last, then by expected bytes, then by number. A job
    /// that could start by the clock for an hour doesn't let smaller ones go first.
    private func isBefore(_ left: QueueJob, _ right: QueueJob, _ conditions: QueueConditions) -> Bool {
        func rank(_ job: QueueJob) -> (Int, Int, Int64) {
            let opening = job.transfer.window?.opening(before: conditions.now, offset: conditions.offset)
            let since = max(job.submittedAt, job.transfer.earliestBegin ?? job.submittedAt, opening ?? job.submittedAt)
            let bytes = conditions.now - since >= QueueLimits.patience ? -1 : job.transfer.expectedBytes ?? .max
            return (-job.transfer.priority, job.transfer.isDiscretionary ? 1 : 0, bytes)
        }
        let (first, second) = (rank(left), rank(right))
        return first == second ? left.id < right.id : first < second
    }
}

extension QueuePlan {
    fileprivate mutating func wakes(at time: QueueTime?, after now: QueueTime) {
        guard let time, time > now else { return }
        wake = min(wake ?? time, time)
    }

    /// Gives the places to running and ready jobs, in order.
    fileprivate mutating func fill(_ ready: [QueueJob], _ kept: [QueueJob], _ limits: QueueLimits) {
        let isBusy = (ready + kept).contains { !$0.transfer.isDiscretionary }
        var counts: [String: Int] = [:]
        var total = 0
        let first = kept.filter(\.transfer.isDiscretionary).map(\.id).min()
        for job in kept {
            if job.transfer.isDiscretionary, isBusy || job.id != first {
                stop.insert(job.id)
                positions[job.id] = QueuePosition(phase: .waiting, reason: .busy)
                continue
            }
            positions[job.id] = QueuePosition(phase: .running)
            counts[job.host, default: 0] += 1
            total += 1
        }
        for job in ready {
            if job.transfer.isDiscretionary, isBusy || total > 0 {
                positions[job.id] = QueuePosition(phase: .waiting, reason: .busy)
            } else if total < max(1, limits.maximumRunning),
                counts[job.host, default: 0] < max(1, limits.maximumPerHost)
            {
                start.append(job.id)
                positions[job.id] = QueuePosition(phase: .running)
                counts[job.host, default: 0] += 1
                total += 1
            } else {
                positions[job.id] = QueuePosition(phase: .queued)
            }
        }
    }
}
