import SquallProxy
internal import Synchronization
internal import Testing

/// What is behind the network when the test begins.
enum NetworkSubject: Sendable {
    /// A proxy of this name forwards to this server.
    case upstream(String, name: String)
    /// This command runs, with options of `squall exec`.
    case command([String], options: [String])
    /// Nothing: the test begins it.
    case none
}

/// One run of a test of Swift Testing with one seed.
final class NetworkRun: Sendable {
    private let scope: NetworkScope
    private let subject: NetworkSubject
    private let expectation: NetworkExpectation
    private let hasFailed = Atomic<Bool>(false)

    init(_ scope: NetworkScope, _ subject: NetworkSubject, expecting expectation: NetworkExpectation) {
        self.scope = scope
        self.subject = subject
        self.expectation = expectation
    }

    /// Runs the test. Its failures are recorded with the advice of the scope, and its journals attached.
    ///
    /// - Throws: What ends the test without a failure of its own: that it was cancelled.
    func perform(
        _ test: Test,
        _ testCase: Test.Case?,
        _ function: @Sendable () async throws -> Void
    ) async throws {
        let handler: IssueHandlingTrait = .compactMapIssues { self.noted($0) }
        var ending: (any Error)?
        do {
            try await handler.provideScope(for: test, testCase: testCase) {
                try await self.perform(test, function)
            }
        } catch {
            ending = error
        }
        await scope.stop()
        let hasFailed = hasFailed.load(ordering: .relaxed)
        if ending != nil, !hasFailed {
            // Swift Testing records an exceeded time limit itself, without the seed.
            scope.printAdvice()
        }
        if hasFailed || ending != nil {
            for journal in await scope.journals() {
                Attachment.record(journal.text, named: journal.name, sourceLocation: test.sourceLocation)
            }
        }
        if let ending { throw ending }
    }

    private func perform(_ test: Test, _ function: @Sendable () async throws -> Void) async throws {
        do {
            switch subject {
            case .upstream(let upstream, let name): _ = try await scope.connect(to: upstream, named: name)
            case .command(let command, let options): try scope.start(command, options: options, environment: [:])
            case .none: break
            }
            try await NetworkScope.$current.withValue(scope, operation: function)
            if !hasFailed.load(ordering: .relaxed) { try await scope.check(expectation) }
        } catch is ExpectationFailedError {
            // `#require` has recorded it.
        } catch {
            if error is CancellationError || Task.isCancelled { throw error }
            Issue.record(error, sourceLocation: test.sourceLocation)
        }
    }

    /// The issue with the advice of the scope, if it is a failure; `nil` for an issue of no test.
    private func noted(_ issue: Issue) -> Issue? {
        // An issue of a detached task or a thread comes to every running test, and is recorded without them too.
        guard Test.current != nil else { return nil }
        #if compiler(>=6.3)
            guard issue.isFailure else { return issue }
        #endif
        hasFailed.store(true, ordering: .relaxed)
        var issue = issue
        issue.comments.append(Comment(rawValue: scope.advice))
        return issue
    }
}
