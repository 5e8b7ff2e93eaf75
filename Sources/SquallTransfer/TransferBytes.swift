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
/// For one reader. It ends only when the response is complete: a lost connection is an error.
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
            let received = try await ReceivedFile(for: FilePath(TransferSession.absolute(file)))
            var length: Int64 = 0
            do {
                while let chunk = try await source.next() {
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

    /// The chunks of a body.
    public struct Chunks: AsyncSequence, AsyncIteratorProtocol, Sendable {
        /// The element type.
        public typealias Element = [UInt8]
        let source: Source

        /// Iterates over the chunks.
        public func makeAsyncIterator() -> Chunks { self }

        /// The next chunk; `nil` at the end.
        public mutating func next() async throws -> [UInt8]? { try await source.next() }
    }

    /// The lines of a body.
    public struct Lines: AsyncSequence, Sendable {
        /// The element type.
        public typealias Element = String
        /// The maximum length of a line, in bytes: 1 MiB.
        public static let maximumLength = 1 << 20
        let source: Source

        /// Iterates over the lines.
        public func makeAsyncIterator() -> Iterator { Iterator(bytes: TransferBytes.Iterator(source: source)) }

        /// Iterates over the lines of a body.
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
                    guard line.count < Lines.maximumLength else {
                        throw TransferError(.tooLong, "a line has more than \(Lines.maximumLength) bytes")
                    }
                    line.append(byte)
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

        func next() async throws(TransferError) -> [UInt8]? {
            let received = await withTaskCancellationHandler {
                await pipe.receive()
            } onCancel: {
                task.cancel()
            }
            return try received.get()
        }
    }
}

/// Passes body chunks from the receiving to the reading task: an unread chunk blocks further receiving.
final class BodyPipe: Sendable {
    private struct State {
        var part: [UInt8]?
        var end: Result<[UInt8]?, TransferError>?
        var reader: CheckedContinuation<Result<[UInt8]?, TransferError>, Never>?
        var writer: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// The response head, once it is there.
    let head = FirstValue<Result<TransferResponse, TransferError>>()

    /// Delivers a chunk, and waits until it is taken or the task is cancelled.
    func deliver(_ part: [UInt8]) async {
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

    /// Delivers the end, which persists.
    func end(_ error: TransferError?) {
        let end: Result<[UInt8]?, TransferError> = error.map { .failure($0) } ?? .success(nil)
        let reader = state.withLock { state in
            state.end = end
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: end)
    }

    /// Waits for the next chunk; `nil` at the end.
    func receive() async -> Result<[UInt8]?, TransferError> {
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
