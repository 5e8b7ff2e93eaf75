import ChaosStage

/// The command line that repeats one run of a stage.
struct StageRepetition {
    /// The words in front of the profile and the seed, and those behind them.
    private let front: [String]
    private let back: [String]

    init(command: TestCommand, scenario: Scenario) {
        var front = ["squall", "test"]
        if let path = command.scenario { front.append(path) }
        front += StageRepetition.words(command.upstream.flatMap { ["--upstream", $0] })
        if command.exec { front.append("--exec") }
        front += StageRepetition.words(command.targets.arguments)
        var options =
            command.faults.arguments + command.limits.arguments + command.client.arguments
            + command.tls.arguments + command.interception.arguments
        for expectation in command.expect { options += ["--expect", expectation] }
        if let limit = command.timeLimit { options += ["--time-limit", limit.text.filter { $0 != " " }] }
        var back = StageRepetition.words(options)
        if command.allowVacuous { back.append("--allow-vacuous") }
        if command.requirePhases { back.append("--require-phases") }
        if command.scenario == nil { back += ["--"] + command.command }
        (self.front, self.back) = (front, back)
    }

    /// The line of a case.
    func line(of stageCase: StageCase) -> String {
        let profile = StageRepetition.words(stageCase.reference.map { ["--profile", $0] } ?? [])
        return ReportText.command(front + profile + ["--seed", "\(stageCase.seed)"] + back)
    }

    /// Options, each followed by its value, as words of a command line. A value that begins with a dash shares the word of its
    /// option: alone it would be taken for an option.
    private static func words(_ options: [String]) -> [String] {
        stride(from: 0, to: options.count, by: 2).flatMap { index in
            let (name, value) = (options[index], options[index + 1])
            return value.hasPrefix("-") ? ["\(name)=\(value)"] : [name, value]
        }
    }
}
