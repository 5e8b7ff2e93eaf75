internal import HTTPSemantics
internal import OperatingSystem
internal import Synchronization
internal import SystemPackage
internal import TransferClient

/// The head of a response (RFC 9110, section 15).
public struct TransferResponse: Hashable, Sendable {
    /// The status code, from 200 to 599.
    public var status: Int
    /// The header fields, in order.
    public var headers: HTTPFields
    /// The URL that responded, after redirects.
    public var url: String

    /// Makes a head, for tests.
    public init(status: Int, headers: HTTPFields = [:], url: String = "") {
        (self.status, self.headers, self.url) = (status, headers, url)
    }

    /// The values of the fields with this name, case-insensitively, joined with commas (RFC 9110, section 5.3); `nil`
    /// if there are none.
    public subscript(name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }

    /// The name in `Content-Disposition` (RFC 6266), if it can name a file in a folder and isn't hidden.
    public var suggestedFileName: String? { headers[.contentDisposition].flatMap { ContentDisposition.fileName($0) } }

    /// `Last-Modified` (RFC 9110, section 8.8.2), in seconds since 1970.
    public var lastModified: Int64? { headers[.lastModified].flatMap { HTTPDate($0) }?.secondsSinceEpoch }
}

/// The body of a response as an async sequence, with backpressure. The request is cancelled when the value is dropped.
///
/// For one reader: of two at the same time the second gets the code `.invalidRequest`. One after the other, such as
/// `lines` and then `save(to:)`, each goes on where the last one stopped. It ends only when the response is complete: a
/// lost connection is an error.
public struct TransferBytes: AsyncSequence, Sendable {
    /// The element type.
    public typealias Element = UInt8

    let source: Source

    /// The body in chunks as received, each of 1 byte to 256 KiB.
    public var chunks: Chunks { Chunks(source: source) }

    /// Cancels the request. A reader gets the code `.cancelled`, unless it has read the end.
    public func cancel() { source.cancel() }

    /// Writes the rest of the body to a file, which gets its name when it is complete and durable. It can't be resumed;
    /// a download can.
    ///
    /// - Parameter file: The path of the destination; its folder must exist. A regular file there is replaced, and its
    ///   permissions are kept.
    /// - Returns: The number of bytes written.
    /// - Throws: A `TransferError`: the failure of the body, `.invalidFile` or `.fileSystem`. Leaves no file then.
    @discardableResult
    public func save(to file: String) async throws -> Int64 {
        do {
            let received = try await ReceivedFile(for: FilePath(checked: TransferSession.absolute(file)))
            var length: Int64 = 0
            do {
                while let chunk = try await source.nextChunk() {
                    try await received.write(chunk, at: length)
                    length += Int64(chunk.count)
                }
                try await received.finish()
            } catch {
                await received.discard()
                throw error
            }
            return length
        } catch let error as EngineError {
            throw TransferError(ofRequest: error)
        }
    }

    /// The lines of the body, in UTF-8, without their terminators (LF or CR LF). A line longer than 1 MiB is an error.
    public var lines: Lines { Lines(source: source) }

    /// Iterates over the bytes.
    public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

    /// Iterates over the bytes of a body.
    public struct Iterator: AsyncIteratorProtocol {
        let source: Source

        /// The next byte; `nil` at the end.
        public mutating func next() async throws -> UInt8? { try await source.next { $0.removeFirst() } }
    }

    /// The chunks of a body.
    public struct Chunks: AsyncSequence, AsyncIteratorProtocol, Sendable {
        /// The element type.
        public typealias Element = [UInt8]
        let source: Source

        /// Iterates over the chunks.
        public func makeAsyncIterator() -> Chunks { self }

        /// The next chunk; `nil` at the end.
        public mutating func next() async throws -> [UInt8]? { try await source.nextChunk() }
    }

    /// The lines of a body.
    public struct Lines: AsyncSequence, Sendable {
        /// The element type.
        public typealias Element = String
        /// The maximum length of a line, in bytes: 1 MiB.
        public static let maximumLength = 1 << 20
        let source: Source

        /// Iterates over the lines.
        public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

        /// Iterates over the lines of a body.
        public struct Iterator: AsyncIteratorProtocol {
            private let source: Source
            private var isAtEnd = false

            init(source: Source) { self.source = source }

            /// The next line; `nil` at the end. A trailing newline doesn't produce an empty line.
            public mutating func next() async throws -> String? {
                if isAtEnd { return nil }
                var line: [UInt8] = []
                let newline = UInt8(ascii: "\n")
                while let (part, isWhole) = try await source.next({ $0.removeFirstPart(endingWith: newline) }) {
                    guard line.count + part.count <= Lines.maximumLength else {
                        throw TransferError(.tooLong, "a line has more than \(Lines.maximumLength) bytes")
                    }
                    line += part
                    guard isWhole else { continue }
                    if line.last == UInt8(ascii: "\r") { line.removeLast() }
                    return String(decoding: line, as: UTF8.self)
                }
                isAtEnd = true
                return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
            }
        }
    }

    /// Owns the request: dropping it cancels the request.
    final class Source: Sendable {
        let pipe: BodyPipe
        private let task: Task<Void, Never>

        init(_ pipe: BodyPipe, _ task: Task<Void, Never>) {
            self.pipe = pipe
            self.task = task
        }

        deinit { cancel() }

        func cancel() { task.cancel() }

        /// What `take` removes from the unread bytes, of which there is at least one; `nil` at the end.
        func next<Value>(_ take: (inout ArraySlice<UInt8>) -> Value) async throws(TransferError) -> Value? {
            while true {
                if let taken = pipe.take(take) { return taken }
                let hasMore = await withTaskCancellationHandler {
                    await pipe.wait()
                } onCancel: {
                    task.cancel()
                }
                guard try hasMore.get() else { return nil }
            }
        }

        /// All unread bytes that are there.
        func nextChunk() async throws(TransferError) -> [UInt8]? {
            try await next { unread in
                defer { unread = [] }
                return Array(unread)
            }
        }
    }
}

/// Passes body chunks from the receiving to the reading task: an unread chunk blocks further receiving. What a reader
/// leaves of a chunk is there for the next one.
final class BodyPipe: Sendable {
    private struct State {
        var unread: ArraySlice<UInt8> = []
        /// Whether there is nothing more after `unread`, or why.
        var end: Result<Bool, TransferError>?
        var reader: CheckedContinuation<Result<Bool, TransferError>, Never>?
        var writer: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// The response head, once it is there.
    let head = FirstValue<Result<TransferResponse, TransferError>>()

    /// Delivers a chunk, and waits until it is read or the task is cancelled. A reader that waits for it counts as having
    /// read it.
    func deliver(_ part: [UInt8]) async {
        guard !part.isEmpty else { return }
        await allRead()
        guard !Task.isCancelled else { return }
        let reader = state.withLock { state in
            state.unread = part[...]
            defer { state.reader = nil }
            return state.reader
        }
        if let reader { return reader.resume(returning: .success(true)) }
        await allRead()
    }

    /// Waits until nothing is unread, or the task is cancelled.
    private func allRead() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isRead = state.withLock { state in
                    if state.unread.isEmpty || Task.isCancelled { return true }
                    state.writer = continuation
                    return false
                }
                if isRead { continuation.resume() }
            }
        } onCancel: {
            state.withLock { state in
                defer { state.writer = nil }
                return state.writer
            }?.resume()
        }
    }

    /// Delivers the end, which persists.
    func end(_ error: TransferError?) {
        let end: Result<Bool, TransferError> = error.map { .failure($0) } ?? .success(false)
        let reader = state.withLock { state in
            state.end = end
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: end)
    }

    /// Lets `body` remove some of the unread bytes; `nil` without any.
    func take<Value>(_ body: (inout ArraySlice<UInt8>) -> Value) -> Value? {
        let (value, writer) = state.withLock { state -> (Value?, CheckedContinuation<Void, Never>?) in
            guard !state.unread.isEmpty else { return (nil, nil) }
            let value = body(&state.unread)
            guard state.unread.isEmpty else { return (value, nil) }
            defer { state.writer = nil }
            return (value, state.writer)
        }
        writer?.resume()
        return value
    }

    /// Waits for unread bytes; `false` at the end. A second reader at the same time gets an error.
    func wait() async -> Result<Bool, TransferError> {
        await withCheckedContinuation { continuation in
            let result = state.withLock { state -> Result<Bool, TransferError>? in
                if !state.unread.isEmpty { return .success(true) }
                if let end = state.end { return end }
                guard state.reader == nil else {
                    return .failure(.invalidRequest("two tasks read a body at the same time, which is for one reader"))
                }
                state.reader = continuation
                return nil
            }
            if let result { continuation.resume(returning: result) }
        }
    }
}

extension ArraySlice<UInt8> {
    /// Removes and returns the bytes up to the first `terminator`, which is left out, or all of them without one.
    fileprivate mutating func removeFirstPart(endingWith terminator: UInt8) -> (part: [UInt8], isWhole: Bool) {
        let end = firstIndex(of: terminator)
        let part = Array(self[..<(end ?? endIndex)])
        self = end.map { self[($0 + 1)...] } ?? []
        return (part, end != nil)
    }
}
