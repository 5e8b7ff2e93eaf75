package import DurableFiles
public import FoundationEssentials

/// Why a call to a queue failed.
public struct TransferQueueError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// A kind of failure. Others may be added.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name.
        public let rawValue: String
        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The name.
        public var description: String { rawValue }

        /// There is no such job.
        public static let noJob = Code(rawValue: "no-job")
        /// The job is in a phase in which the call has no meaning.
        public static let wrongPhase = Code(rawValue: "wrong-phase")
        /// Another job writes the same file.
        public static let duplicate = Code(rawValue: "duplicate")
        /// The queue has as many jobs as it may have.
        public static let full = Code(rawValue: "full")
        /// The transfer isn't valid.
        public static let invalid = Code(rawValue: "invalid")
        /// Another process, or another `TransferQueue` of this one, has the queue.
        public static let locked = Code(rawValue: "locked")
        /// The log can't be used: it is damaged, or of a newer version.
        public static let unusable = Code(rawValue: "unusable")
        /// A call of the file system failed.
        public static let fileSystem = Code(rawValue: "file-system")
        /// No daemon listens, or it doesn't answer.
        public static let daemon = Code(rawValue: "daemon")
        /// The queue is closed.
        public static let closed = Code(rawValue: "closed")
    }

    /// The kind.
    public let code: Code
    /// The failure and its remedy, in words.
    public let message: String
    /// The call of the file system that has failed, if it is known.
    let cause: FileError?

    /// Makes an error.
    package init(_ code: Code, _ message: String, _ cause: FileError? = nil) {
        (self.code, self.message, self.cause) = (code, message, cause)
    }

    /// The message.
    public var description: String { message }
    /// The message.
    public var errorDescription: String? { message }
}

extension TransferQueueError {
    init(_ problem: QueueProblem) {
        let code: Code =
            switch problem {
            case .noJob: .noJob
            case .wrongPhase: .wrongPhase
            case .duplicate: .duplicate
            case .full: .full
            case .tooLarge, .invalid: .invalid
            }
        self.init(code, problem.description)
    }

    init(_ problem: QueueLog.Problem, folder: String) {
        switch problem {
        case .locked:
            self.init(
                .locked,
                "another process, or another TransferQueue of this process, has the queue in “\(folder)”: end or close it, or ask it"
            )
        case .unusable(let why):
            self.init(
                .unusable,
                "“\(folder)/queue.log” can't be used: \(why); move it away to begin with an empty queue"
            )
        case .file(let error): self.init(.fileSystem, error.description)
        }
    }
}
