import FaultProfile
import Units

/// An expectation as a tree.
indirect enum ExpectationTerm: Sendable {
    case all([ExpectationTerm])
    case any([ExpectationTerm])
    case not(ExpectationTerm)
    case comparison(ExpectationOperand, Comparison, ExpectationOperand, text: String)

    var operands: [ExpectationOperand] {
        switch self {
        case .all(let terms), .any(let terms): terms.flatMap(\.operands)
        case .not(let term): term.operands
        case .comparison(let left, _, let right, _): [left, right]
        }
    }
}

/// One side of a comparison.
enum ExpectationOperand: Hashable, Sendable {
    case value(ExpectationValue)
    /// A figure of the run, of one proxy or of all.
    case figure(Figure, proxy: String?)
    /// The SHA-256 of a file, in hexadecimal digits.
    case digest(path: String)

    /// A figure of a run.
    enum Figure: Hashable, Sendable {
        case exit, time, bytes, upstreamBytes, downstreamBytes, waste, connections, resumptions, faults
        case faultsOf(FaultKind.Name)

        var form: ExpectationValue.Form {
            switch self {
            case .exit, .connections, .resumptions, .faults, .faultsOf: .count
            case .time: .time
            case .bytes, .upstreamBytes, .downstreamBytes: .size
            case .waste: .share
            }
        }

        var isOfProxy: Bool { self != .exit && self != .time }

        /// Those that are a word alone, which is their name.
        static let plain: [Figure] = [.exit, .time, .waste, .connections, .resumptions]

        var written: String {
            switch self {
            case .exit, .time, .bytes, .waste, .connections, .resumptions, .faults: "\(self)"
            case .upstreamBytes: "bytes(upstream)"
            case .downstreamBytes: "bytes(downstream)"
            case .faultsOf(let kind): "faults(\(kind.rawValue))"
            }
        }
    }

    static let words = ["exit", "time", "bytes", "waste", "connections", "resumptions", "faults", "sha256"]

    var form: ExpectationValue.Form {
        switch self {
        case .value(let value): value.form
        case .figure(let figure, _): figure.form
        case .digest: .text
        }
    }

    var written: String {
        switch self {
        case .value(let value): value.written
        case .figure(let figure, nil): figure.written
        case .figure(let figure, let proxy?): "\(proxy).\(figure.written)"
        case .digest(let path): "sha256(\"\(path)\")"
        }
    }
}
