internal import EventLoop
internal import FaultProfile
public import FoundationEssentials
internal import ProxyEngine

/// Why a proxy doesn't start or change.
public struct FaultProxyError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// The kind of an error. Later versions may have more.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the constant.
        public let rawValue: String

        /// A code by the name of its constant.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name of the constant.
        public var description: String { rawValue }

        /// The profile has problems, which `problems` lists.
        public static let invalidProfile = Code(rawValue: "invalidProfile")
        /// A text is no address.
        public static let invalidAddress = Code(rawValue: "invalidAddress")
        /// A name has no address.
        public static let unresolved = Code(rawValue: "unresolved")
        /// The address can't be listened on, or an address asks for TLS, which these proxies don't speak.
        public static let cannotListen = Code(rawValue: "cannotListen")
        /// Connections would come back to the proxy.
        public static let forwardsToItself = Code(rawValue: "forwardsToItself")
        /// The profile has no phase of the name, or never reaches it.
        public static let unknownPhase = Code(rawValue: "unknownPhase")
        /// The proxy has been stopped.
        public static let stopped = Code(rawValue: "stopped")
        /// The system has no thread or descriptor left.
        public static let system = Code(rawValue: "system")
    }

    /// The kind.
    public let code: Code
    /// The problem and the remedy. A profile has a line for each problem: `file:line:column: problem (remedy)`, or
    /// `fault 2, cut: problem (remedy)` for a fault made in Swift.
    public let message: String
    /// The problems of a profile with their places, 100 at most; empty for other errors, and for faults that are all for
    /// proxies of other names.
    public let problems: [ProfileProblem]

    /// The message.
    public var description: String { message }
    /// The message.
    public var errorDescription: String? { message }

    init(_ code: Code, _ message: String) { (self.code, self.message, problems) = (code, message, []) }

    init(_ error: ProfileProblems, _ problems: [ProfileProblem]) {
        let lines = problems.map(\.description) + (error.omitted > 0 ? ["and \(error.omitted) more"] : [])
        (code, message, self.problems) = (.invalidProfile, lines.joined(separator: "\n"), problems)
    }

    static let stopped = FaultProxyError(ProxyError.stopped)

    init(_ error: ProxyError) {
        let code: Code =
            switch error {
            case .unresolved: .unresolved
            case .cannotListen, .openToAnybody, .withoutTLS, .noTLSHere, .unusable: .cannotListen
            case .forwardsToItself: .forwardsToItself
            case .unknownPhase: .unknownPhase
            case .stopped: .stopped
            }
        self.init(code, error == .stopped ? "the proxy has been stopped" : error.description)
    }
}

/// A problem of a profile, with its place.
public struct ProfileProblem: Hashable, Sendable, CustomStringConvertible {
    /// The path of the file, the place of the text, or the fault made in Swift: "fault 2, cut".
    public let file: String
    /// The line, from 1; of a fault made in Swift in its JSON.
    public let line: Int
    /// The column, from 1, in characters; of a fault made in Swift in its JSON.
    public let column: Int
    /// What is wrong.
    public let what: String
    /// What to do about it.
    public let remedy: String
    /// `file:line:column: problem (remedy)`, or `fault 2, cut: problem (remedy)`.
    public let description: String

    init(_ problem: Problem) {
        self.init(problem, file: problem.file, line: problem.line, problem.description)
    }

    init(_ problem: Problem, file: String, line: Int, _ description: String) {
        (self.file, self.line, column) = (file, line, problem.column)
        (what, remedy, self.description) = (problem.what, problem.remedy, description)
    }
}
