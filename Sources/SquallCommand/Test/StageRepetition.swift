import ChaosStage

/// The command line that repeats one run of a stage.
struct StageRepetition {
    /// The words in front of the profile and the seed, and those behind them.
    private let front: [String]
    private let back: [String]

    init(command: TestCommand, scenario: Scenario) {
        var front = ["squall", "test"]
        if let path = command.scenario { front.append(path) }
        for upstream in command.upstream { front += ["--upstream", upstream] }
        if command.exec { front.append("--exec") }
        front += command.targets.arguments
        var back =
            command.faults.arguments + command.limits.arguments + command.client.arguments
            + command.tls.arguments + command.interception.arguments
        for expectation in command.expect { back += ["--expect", expectation] }
        if let limit = command.timeLimit { back += ["--time-limit", limit.text.filter { $0 != " " }] }
        if command.allowVacuous { back.append("--allow-vacuous") }
        if command.requirePhases { back.append("--require-phases") }
        if command.scenario == nil { back += ["--"] + command.command }
        (self.front, self.back) = (front, back)
    }

    /// The line of a case.
    func line(of stageCase: StageCase) -> String {
        let profile = stageCase.reference.map { ["--profile", $0] } ?? []
        return ReportText.command(front + profile + ["--seed", "\(stageCase.seed)"] + back)
    }
}
