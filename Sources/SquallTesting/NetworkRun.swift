import SquallProxy
internal import Synchronization
internal import Testing

/// One run of a test of Swift Testing with one seed.
final class NetworkRun: Sendable {
    private let scope: NetworkScope
    private let upstream: String?
    private let expectation: NetworkExpectation
    private let hasFailed = Atomic<Bool>(false)

    init(_ scope: NetworkScope, to upstream: String?, expecting expectation: NetworkExpectation) {
        self.scope = scope
        self.upstream = upstream
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
        if hasFailed.load(ordering: .relaxed) {
            for journal in await scope.journals() {
                Attachment.record(journal.text, named: journal.name, sourceLocation: test.sourceLocation)
            }
        }
        if let ending { throw ending }
    }

    private func perform(_ test: Test, _ function: @Sendable () async throws -> Void) async throws {
        do {
            if let upstream { _ = try await scope.connect(to: upstream) }
            try await NetworkScope.$current.withValue(scope, operation: function)
            if !hasFailed.load(ordering: .relaxed) { try await scope.check(expectation) }
        } catch is ExpectationFailedError {
            // `#require` has recorded it.
        } catch {
            if error is CancellationError || Task.isCancelled { throw error }
            Issue.record(error, sourceLocation: test.sourceLocation)
        }
    }

    /// The issue with the advice of the scope, if it is a failure.
    private func noted(_ issue: Issue) -> Issue {
        #if compiler(>=6.3)
            guard issue.isFailure else { return issue }
        #endif
        hasFailed.store(true, ordering: .relaxed)
        var issue = issue
        issue.comments.append(Comment(rawValue: scope.advice))
        return issue
    }
}
