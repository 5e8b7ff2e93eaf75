internal import Synchronization
internal import SystemPackage
internal import TransferClient

/// The head of a response (RFC 9110, section 15).
public struct TransferResponse: Hashable, Sendable {
    /// The status code, from 200 to 599.
    public var status: Int
    /// The header fields, in their order.
    public var headers: [TransferHeader]
    /// The URL that answered, after redirections.
    public var url: String

    /// The values of the fields with this name, in any case, joined by commas (RFC 9110, section 5.3); `nil` where there is none.
    public subscript(name: String) -> String? {
        let values = headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}

/// The body of a response, as it comes. It isn't received faster than it is read, and no longer than somebody holds it.
///
/// For one reader. Its end is the end that the server meant: a connection that breaks off is an error.
public struct TransferBytes: AsyncSequence, Sendable {
    /// What it gives.
    public typealias Element = UInt8
    /// What it throws: a `TransferError`, always.
    public typealias Failure = any Error

    let source: Source

    /// The parts of the body as they come, each of 1 byte or more, 256 KiB at most.
    public var chunks: Chunks { Chunks(source: source) }

    /// Ends the request. Whoever reads gets the code `.cancelled`, unless the end has been read.
    public func cancel() { source.cancel() }

    /// Writes the rest of the body to a file, which takes its name once it is whole and on the disk. It can't be resumed; a
    /// download can.
    ///
    /// - Parameter file: The path of the destination file; its folder must exist. A regular file there is replaced, and its
    ///   permissions are passed on.
    /// - Returns: The bytes that were written.
    /// - Throws: A `TransferError`: the failure of the body, `.invalidFile` or `.fileSystem`. Nothing is left then.
    @discardableResult
    public func save(to file: String) async throws -> Int64 {
        let received: ReceivedFile
        do throws(DownloadError) {
            received = try await ReceivedFile.make(for: FilePath(TransferSession.absolute(file)))
        } catch {
            throw TransferError(ofExchange: error)
        }
        var length: Int64 = 0
        do throws(TransferError) {
            while let chunk = try await source.next() {
                try await TransferError.ofExchange { () async throws(DownloadError) in
                    try await received.write(chunk, at: length)
                }
                length += Int64(chunk.count)
            }
            try await TransferError.ofExchange { () async throws(DownloadError) in try await received.finish() }
        } catch {
            await received.discard()
            throw error
        }
        return length
    }

    /// The lines of the body, in UTF-8, without their ends (LF or CR LF). A line of more than 1 MiB is an error.
    public var lines: Lines { Lines(source: source) }

    /// Reads the bytes.
    public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

    /// Reads the bytes of a body, one by one.
    public struct Iterator: AsyncIteratorProtocol {
        let source: Source
        private var chunk: [UInt8] = []
        private var index = 0

        init(source: Source) { self.source = source }

        /// The next byte; `nil` at the end.
        public mutating func next() async throws -> UInt8? {
            if index == chunk.count {
                guard let next = try await source.next() else { return nil }
                (chunk, index) = (next, 0)
            }
            defer { index += 1 }
            return chunk[index]
        }

    }

    /// The parts of a body.
    public struct Chunks: AsyncSequence, AsyncIteratorProtocol, Sendable {
        /// What it gives.
        public typealias Element = [UInt8]
        /// What it throws: a `TransferError`, always.
        public typealias Failure = any Error
        let source: Source

        /// Reads the parts.
        public func makeAsyncIterator() -> Chunks { self }

        /// The next part; `nil` at the end.
        public mutating func next() async throws -> [UInt8]? { try await source.next() }

    }

    /// The lines of a body.
    public struct Lines: AsyncSequence, Sendable {
        /// What it gives.
        public typealias Element = String
        /// What it throws: a `TransferError`, always.
        public typealias Failure = any Error
        /// The bytes of a line that are taken: 1 MiB.
        public static let longest = 1 << 20
        let source: Source

        /// Reads the lines.
        public func makeAsyncIterator() -> Iterator { Iterator(bytes: TransferBytes.Iterator(source: source)) }

        /// Reads the lines of a body.
        public struct Iterator: AsyncIteratorProtocol {
            private var bytes: TransferBytes.Iterator
            private var isAtEnd = false

            init(bytes: TransferBytes.Iterator) { self.bytes = bytes }

            /// The next line; `nil` at the end. A trailing newline doesn't produce an empty line.
            public mutating func next() async throws -> String? {
                if isAtEnd { return nil }
                var line: [UInt8] = []
                while let byte = try await bytes.next() {
                    if byte == UInt8(ascii: "\n") {
                        if line.last == UInt8(ascii: "\r") { line.removeLast() }
                        return String(decoding: line, as: UTF8.self)
                    }
                    guard line.count < Lines.longest else {
                        throw TransferError(.tooLong, "a line has more than \(Lines.longest) bytes")
                    }
                    line.append(byte)
                }
                isAtEnd = true
                return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
            }
        }
    }

    /// Holds the exchange: nobody reads any more once it is gone.
    final class Source: Sendable {
        let handoff: Handoff
        private let task: Task<Void, Never>

        init(_ handoff: Handoff, _ task: Task<Void, Never>) {
            self.handoff = handoff
            self.task = task
        }

        deinit { cancel() }

        func cancel() { task.cancel() }

        func next() async throws(TransferError) -> [UInt8]? {
            let taken = await withTaskCancellationHandler {
                await handoff.take()
            } onCancel: {
                task.cancel()
            }
            return try taken.get()
        }
    }
}

/// Hands the parts of a body from the task that receives to the one that reads: a part that nobody has taken keeps the next
/// from being received.
final class Handoff: Sendable {
    private struct State {
        var part: [UInt8]?
        var end: Result<[UInt8]?, TransferError>?
        var reader: CheckedContinuation<Result<[UInt8]?, TransferError>, Never>?
        var writer: CheckedContinuation<Void, Never>?
        var head: CheckedContinuation<Result<TransferResponse, TransferError>, Never>?
        var response: Result<TransferResponse, TransferError>?
    }

    private let state = Mutex(State())

    /// The head, once it has come.
    func head() async -> Result<TransferResponse, TransferError> {
        await withCheckedContinuation { continuation in
            let response = state.withLock { state in
                if state.response == nil { state.head = continuation }
                return state.response
            }
            if let response { continuation.resume(returning: response) }
        }
    }

    /// Gives the head to whoever waits for it; only the first counts.
    func give(head response: Result<TransferResponse, TransferError>) {
        let waiting = state.withLock { state in
            if state.response == nil { state.response = response }
            defer { state.head = nil }
            return state.head
        }
        waiting?.resume(returning: response)
    }

    /// Gives a part, and waits until it is taken, or until the task is cancelled.
    func give(_ part: [UInt8]) async {
        guard !part.isEmpty else { return }
        let reader = state.withLock { state in
            if state.reader == nil { state.part = part }
            defer { state.reader = nil }
            return state.reader
        }
        if let reader { return reader.resume(returning: .success(part)) }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isTaken = state.withLock { state in
                    if state.part == nil || Task.isCancelled { return true }
                    state.writer = continuation
                    return false
                }
                if isTaken { continuation.resume() }
            }
        } onCancel: {
            state.withLock { state in
                defer { state.writer = nil }
                return state.writer
            }?.resume()
        }
    }

    /// Tells the end, which stays.
    func end(_ error: TransferError?) {
        let end: Result<[UInt8]?, TransferError> = error.map { .failure($0) } ?? .success(nil)
        let reader = state.withLock { state in
            state.end = end
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: end)
    }

    /// The next part, waited for; `nil` at the end.
    func take() async -> Result<[UInt8]?, TransferError> {
        await withCheckedContinuation { continuation in
            let (result, writer) = state.withLock {
                state -> (Result<[UInt8]?, TransferError>?, CheckedContinuation<Void, Never>?) in
                defer { state.writer = nil }
                if let part = state.part {
                    state.part = nil
                    return (.success(part), state.writer)
                }
                if let end = state.end { return (end, state.writer) }
                state.reader = continuation
                return (nil, state.writer)
            }
            writer?.resume()
            if let result { continuation.resume(returning: result) }
        }
    }
}
