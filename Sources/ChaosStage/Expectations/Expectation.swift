import Units

/// A condition on the figures of a run, such as `exit == 0 && waste < 5 % && faults >= 3`.
///
/// The figures are `exit`, `time`, `bytes`, `bytes(upstream)`, `bytes(downstream)`, `waste`, `connections`,
/// `resumptions`, `faults` and `faults(KIND)`; all but the first two also of one proxy, as in `db.faults`. `sha256("PATH")`
/// is the digest of a file. Comparisons are joined by `&&`, `||`, `!` and parentheses. Both sides of a comparison have the
/// same form: numbers, durations (“30 s”), sizes (“2 MiB”), shares (“5 %”) or texts, which are compared in any letter case.
package struct Expectation: Sendable {
    /// The most characters of an expectation: 1,000.
    package static let lengthLimit = 1_000
    /// The deepest parentheses and negations: 50.
    package static let depthLimit = 50

    package let text: String
    private let term: ExpectationTerm

    /// Reads an expectation about proxies of the given names.
    ///
    /// - Throws: `ExpectationError` with the position of what is wrong.
    package init(_ text: String, proxies: [String]) throws(ExpectationError) {
        self.text = text
        term = try ExpectationParser.read(text, proxies: proxies)
    }

    /// Whether it needs a run without faults to compare with.
    package var needsReference: Bool { mentions { $0 == .waste } }

    /// Whether it needs the proxies to read HTTP.
    package var needsMessages: Bool { mentions { $0 == .resumptions } }

    package var isAboutExit: Bool { mentions { $0 == .exit } }

    /// Whether it counts what only faults bring about: faults, and the resumptions after them.
    package var isAboutFaults: Bool {
        mentions { if case .faultsOf = $0 { true } else { $0 == .faults || $0 == .resumptions } }
    }

    /// Whether it has a figure that faults change: all but `exit`.
    package var dependsOnFaults: Bool { mentions { $0 != .exit } }

    private func mentions(_ isMeant: (ExpectationOperand.Figure) -> Bool) -> Bool {
        term.operands.contains { if case .figure(let figure, _) = $0 { isMeant(figure) } else { false } }
    }

    /// The files whose digests it needs.
    package var files: Set<String> {
        Set(
            term.operands.compactMap { operand in
                if case .digest(let path) = operand { path } else { nil }
            }
        )
    }

    /// Why the figures don't meet the expectation, a sentence; `nil` if they do.
    ///
    /// - Parameter digests: by path the SHA-256 of each of `files` in hexadecimal digits, or why it can't be read.
    package func failure(of measurements: Measurements, digests: [String: Result<String, DigestFailure>]) -> String? {
        let judge = ExpectationJudge(measurements: measurements, digests: digests)
        let failures = judge.failures(of: term)
        guard !failures.isEmpty else { return nil }
        let isWhole = failures.count == 1 && failures[0].text == text
        let sentences = failures.map { isWhole ? $0.values : "\($0.text): \($0.values)" }
        return "\(text) doesn't hold: \(sentences.joined(separator: "; "))"
    }

    /// Why a file has no digest.
    package struct DigestFailure: Error, Hashable, Sendable {
        /// The reason, a clause: "no such file".
        package let reason: String

        package init(reason: String) {
            self.reason = reason
        }
    }
}

/// Compares the figures of a run.
struct ExpectationJudge {
    /// A comparison that doesn't hold, and its values.
    typealias Failure = (text: String, values: String)

    let measurements: Measurements
    let digests: [String: Result<String, Expectation.DigestFailure>]

    /// The comparisons because of which a term doesn't hold; empty if it holds.
    func failures(of term: ExpectationTerm) -> [Failure] {
        switch term {
        case .all(let terms):
            return terms.flatMap { failures(of: $0) }
        case .any(let terms):
            let failures = terms.map { self.failures(of: $0) }
            return failures.contains { $0.isEmpty } ? [] : failures.flatMap { $0 }
        case .not(let term):
            // What can't be known doesn't hold, and neither does its opposite.
            let isKnown = term.operands.allSatisfy { (try? value(of: $0).get()) != nil }
            if isKnown, !failures(of: term).isEmpty { return [] }
            return comparisons(of: term).map { ("! \($0.text)", $0.values) }
        case .comparison(let left, let comparison, let right, let text):
            if case .success(let first) = value(of: left), case .success(let second) = value(of: right),
                first.compares(comparison, to: second)
            {
                return []
            }
            return [(text, values(left, right))]
        }
    }

    private func comparisons(of term: ExpectationTerm) -> [Failure] {
        switch term {
        case .all(let terms), .any(let terms): terms.flatMap { comparisons(of: $0) }
        case .not(let term): comparisons(of: term)
        case .comparison(let left, _, let right, let text): [(text, values(left, right))]
        }
    }

    /// "waste is 12.3 %".
    private func values(_ operands: ExpectationOperand...) -> String {
        operands.compactMap { operand in
            if case .value = operand { return nil }
            switch value(of: operand) {
            case .success(let value): return "\(operand.written) is \(value.written)"
            case .failure(let failure): return "\(operand.written) is unknown: \(failure.reason)"
            }
        }.joined(separator: ", ")
    }

    private func value(of operand: ExpectationOperand) -> Result<ExpectationValue, Expectation.DigestFailure> {
        switch operand {
        case .value(let value):
            return .success(value)
        case .digest(let path):
            let digest = digests[path] ?? .failure(Expectation.DigestFailure(reason: "the file wasn't read"))
            return digest.map(ExpectationValue.text)
        case .figure(let figure, let proxy):
            return value(of: figure, in: part(proxy))
        }
    }

    /// The figures of one proxy alone, or of all.
    private func part(_ proxy: String?) -> Measurements {
        guard let proxy, let index = measurements.proxies.firstIndex(where: { $0.name == proxy }) else {
            return measurements
        }
        var part = measurements
        part.proxies = [measurements.proxies[index]]
        part.reference = measurements.reference.map { index < $0.count ? [$0[index]] : [] }
        return part
    }

    private func value(
        of figure: ExpectationOperand.Figure,
        in measurements: Measurements
    ) -> Result<ExpectationValue, Expectation.DigestFailure> {
        switch figure {
        case .exit: return .success(.count(measurements.exit))
        case .time: return .success(.time(measurements.time))
        case .bytes: return .success(.size(measurements.bytes))
        case .upstreamBytes: return .success(.size(measurements.upstream))
        case .downstreamBytes: return .success(.size(measurements.downstream))
        case .connections: return .success(.count(measurements.connections))
        case .resumptions: return .success(.count(measurements.resumptions))
        case .faults: return .success(.count(measurements.faults))
        case .faultsOf(let kind):
            return .success(.count(measurements.proxies.reduce(0) { $0 + ($1.faults[kind.rawValue] ?? 0) }))
        case .waste:
            guard let waste = measurements.waste else {
                let reason = "no byte passed in a run without faults"
                return .failure(Expectation.DigestFailure(reason: reason))
            }
            return .success(.share(waste))
        }
    }
}
