import Testing
import Units

@testable import SquallTransfer

@Suite(.timeLimit(.minutes(5))) struct StatusFeedTests {
    /// However fast statuses are produced and however slowly they are read: each one read is newer, and the last is
    /// always delivered.
    @Test(arguments: 0..<20 as Range<UInt64>) func `a reader gets newer statuses and the last one`(seed: UInt64)
        async throws
    {
        var generator = SeededGenerator(seed: seed)
        let feed = StatusFeed(observer: nil)
        let count = Int64.random(in: 0...500, using: &generator)
        let pauses = (0..<500).map { _ in Int.random(in: 0...3, using: &generator) }
        let error = seed % 3 == 0 ? TransferError(.gaveUp, "test") : nil
        try await withThrowingTaskGroup(of: Void.self) { group in
            for reader in 0..<4 {
                group.addTask {
                    var (seen, last, number) = (0, TransferStatus?.none, 0)
                    do throws(TransferError) {
                        while let status = try await feed.next(after: &seen) {
                            if let last { #expect(status.completedBytes > last.completedBytes || status.isLast) }
                            #expect(last?.isLast != true)
                            last = status
                            number += 1
                            for _ in 0..<(reader * pauses[number % 500]) { await Task.yield() }
                        }
                        #expect(error == nil)
                    } catch {
                        #expect(error.message == "test")
                    }
                    #expect(last?.isLast == true)
                    #expect(last?.completedBytes == count)
                }
            }
            group.addTask {
                for byte in 0..<count {
                    feed.update { $0.completedBytes = byte + 1 }
                    for _ in 0..<pauses[Int(byte) % 500] { await Task.yield() }
                }
                feed.update(failure: error) { $0.phase = error == nil ? .finished : .failed }
                feed.update { $0.completedBytes = -1 }
            }
            try await group.waitForAll()
        }
        #expect(feed.status.completedBytes == count)
    }

    @Test func `the longest delay can be waited for, and cancelled`() async {
        let waiting = Task { try await StatusFeed(observer: nil).wait(.seconds(Int64.max), nil) }
        await Task.yield()
        waiting.cancel()
        let error = await #expect(throws: TransferError.self) { try await waiting.value }
        #expect(error?.code == .cancelled)
    }

    @Test func `a reader whose task is cancelled ends, and others continue`() async throws {
        let feed = StatusFeed(observer: nil)
        let cancelled = Task {
            var seen = 0
            return try await feed.next(after: &seen)
        }
        let other = Task {
            var seen = 0
            return try await feed.next(after: &seen)
        }
        cancelled.cancel()
        #expect(try await cancelled.value == nil)
        feed.update { $0.completedBytes = 7 }
        #expect(try await other.value?.completedBytes == 7)
    }
}
