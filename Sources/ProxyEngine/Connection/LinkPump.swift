import EventLoop
import FaultPlan
import StreamReading
import Units

/// Moves the bytes of one link from its source to its sink, as far as the link allows.
///
/// Bytes go through the loop's scratch buffer in one receive and one send. Bytes that may not leave yet, or that the sink
/// doesn't take, are copied into the connection's own queue. Bulk data that no fault reads, changes or holds goes through
/// a pipe (splice(2)), where the kernel doesn't copy it.
struct LinkPump: ~Copyable {
    /// The result of a run.
    enum Outcome {
        /// Nothing can happen before a socket is ready or `wake` has come.
        case waiting
        /// There is more to do, in another turn.
        case again
        /// Every byte has been handed to the sink, and the end is due.
        case ended(Ending)
        /// The sink's connection is broken.
        case sinkBroken
    }

    /// A link after a run, as its connection has to know it: in one piece, because each look at a pump costs a check of
    /// exclusive access.
    struct Report {
        let outcome: Outcome
        let wake: Moment
        let passed: Int64
        let state: ConnectionState.LinkState
        let isBlackholed: Bool
        let hasEvents: Bool
    }

    /// Bytes after which a run ends and other connections have their turn: 4 MiB. Fewer make reads smaller where many
    /// connections are busy, which costs more for each byte.
    private static let turnLimit = 4 << 20
    /// The longest wait that is spent spinning, because a turn of the loop takes longer: 2 µs.
    private static let shortWait: Int64 = 2_000
    /// The size of a chunk, sent at once, from which the next ones are tried through a pipe: 64 KiB.
    private static let bulk = 64 << 10
    /// The size of chunks below which a pipe costs more than it saves: 16 KiB.
    private static let leastSpliced = 16 << 10
    /// The largest receive where bytes may be altered, since each may cost a draw: 64 KiB.
    private static let mostAltered = 64 << 10
    /// Receives in one run at most: 8.
    private static let roundLimit = 8

    /// The decisions.
    var link: Link
    /// When to run again if no socket becomes ready before.
    private(set) var wake = Moment.distantFuture
    /// The bytes to send: first those in the pipe, then those in the queue.
    private var pipe = PipeQueue()
    private var queue = ByteQueue()
    /// Whether the last chunk was large enough for a pipe.
    private var isBulk = false
    /// Whether the sink's connection is broken; nothing moves any more then.
    private(set) var isSinkBroken = false
    private var isClosed = false
    /// Whether the source isn't read, because its first bytes wait elsewhere, see `Preamble`.
    var isHeld = false

    init(_ link: Link) {
        self.link = link
    }

    /// Moves what may move at `now`. `reader` sees the bytes, unless it is idle.
    mutating func run(from source: StreamSocket, to sink: StreamSocket, reader: StreamReader, now: Moment) -> Report {
        wake = .distantFuture
        let outcome: Outcome
        if !isAlive {
            outcome = .waiting
        } else if reader.isIdle {
            outcome = move(from: source, to: sink, reader: reader, reads: false, now: now)
        } else {
            outcome = moveRead(from: source, to: sink, reader: reader, now: now)
        }
        return Report(
            outcome: outcome,
            wake: wake,
            passed: link.passed,
            state: state,
            isBlackholed: link.isBlackholed,
            hasEvents: !link.events.isEmpty
        )
    }

    /// Moves bytes that the reader sees.
    private mutating func moveRead(from source: StreamSocket, to sink: StreamSocket, reader: StreamReader, now: Moment)
        -> Outcome
    {
        reader.timeAdvanced(to: now, link.direction)
        if let outcome = release(reader, to: sink, now: now) { return outcome }
        let outcome = move(from: source, to: sink, reader: reader, reads: !reader.isIdle, now: now)
        // The reader's deadline doesn't count for a link that is over.
        if isAlive { wake = min(wake, reader.deadline(link.direction)) }
        return outcome
    }

    private mutating func move(
        from source: StreamSocket,
        to sink: StreamSocket,
        reader: StreamReader,
        reads: Bool,
        now: Moment
    ) -> Outcome {
        var now = now
        let start = link.delivered
        var rounds = 0
        while true {
            let available = availability(of: source)
            switch link.next(available: available, canSend: sink.isWritable, now: now) {
            // Before the limits of a run: a byte might go the other way before an end that is left for another turn.
            case .end(let end):
                return .ended(end)
            case _ where rounds == LinkPump.roundLimit || link.delivered - start >= LinkPump.turnLimit:
                return .again
            case .wait(let moment):
                wake = moment
                guard (wake - now).nanoseconds <= LinkPump.shortWait else { return .waiting }
                while now < wake { now = source.loop.now }
            case .send(let due):
                guard sendQueued(Int(due), to: sink) else { return breakSink() }
            case .receive(let limit):
                let outcome = receive(limit, of: available ?? 0, source, sink, reader, reads: reads, now: &now)
                if let outcome { return outcome }
            }
            rounds += 1
        }
    }

    /// Receives up to `limit` of the `available` bytes, has the link take them, and sends those that may leave.
    private mutating func receive(
        _ limit: Int64,
        of available: Int64,
        _ source: StreamSocket,
        _ sink: StreamSocket,
        _ reader: StreamReader,
        reads: Bool,
        now: inout Moment
    ) -> Outcome? {
        let isAltered = link.altersBytes || reads && reader.announcesEnd
        let limit = Int(min(limit, Int64(isAltered ? LinkPump.mostAltered : EventLoop.scratchCapacity)))
        if isBulk, splices(reads: reads), source.canSplice, sink.canSplice, hasSpliced(from: source, limit: limit) {
            return nil
        }
        let offset = reads ? putHeldInFront(reader, of: sink.loop) : 0
        switch source.receive(limit: limit, behind: offset) {
        case .received(var chunk):
            let count = chunk.count
            let left = link.measuresAvailability ? max(0, available - Int64(count)) : available
            // Bytes that arrived after the run began make it later.
            if let arrival = chunk.arrival { now = max(now, arrival) }
            if reads || link.altersBytes {
                let admitted = reads ? admit(count, behind: offset, reader, in: sink.loop) : count
                chunk = Chunk(count: offset + admitted, arrival: chunk.arrival)
                if chunk.count > 0 { take(&chunk, reader, in: sink.loop, now: now) }
                let outcome = pass(chunk, available: left, to: sink, now: now)
                guard admitted < count, link.direction == .upstream, reader.endsRequests, outcome == nil else {
                    return outcome
                }
                return end(.finish, reader, to: sink, now: now)
            }
            chunk.endFollows = chunk.endFollows && link.isTransparent
            link.bytesArrived(Int64(count), at: chunk.arrival)
            return pass(chunk, available: left, to: sink, now: now)
        case .wouldBlock:
            return nil
        case .ended:
            return end(.finish, reader, to: sink, now: now)
        case .failed:
            return end(.reset, reader, to: sink, now: now)
        }
    }

    /// Whether bytes may still move.
    var isAlive: Bool { !isSinkBroken && !link.isFinished }

    private var state: ConnectionState.LinkState { isSinkBroken ? .sinkBroken : link.isFinished ? .finished : .open }

    /// Takes `bytes` as if the source had sent them and ended.
    mutating func inject(_ bytes: [UInt8], in loop: EventLoop) {
        guard link.sourceEnd == nil, !bytes.isEmpty else { return }
        loop.fillScratch(with: bytes)
        queue.appendScratch(from: 0, length: bytes.count, of: loop)
        link.bytesArrived(Int64(bytes.count))
        link.sourceEnded(.finish)
    }

    /// Gives back the memory of what was not delivered, and what the link shares. Calling it twice is fine.
    mutating func close(_ loop: EventLoop) {
        if isClosed { return }
        isClosed = true
        pipe.removeAll(of: loop)
        queue.removeAll(of: loop)
        link.close()
    }

    /// The bytes that wait in the source, see `Link.next`.
    private func availability(of source: StreamSocket) -> Int64? {
        guard source.isReadable, !isHeld, link.sourceEnd == nil else { return nil }
        return link.measuresAvailability ? Int64(source.receivable()) : Link.uncounted
    }

    /// Whether the next bytes may go through a pipe: no fault reads or alters them, and none wait in front of them.
    private func splices(reads: Bool) -> Bool { !reads && !link.altersBytes && pipe.isEmpty && queue.isEmpty }

    /// Whether bytes came into the pipe, or the source is broken; if not, a receive finds out what there is.
    private mutating func hasSpliced(from source: StreamSocket, limit: Int) -> Bool {
        switch pipe.receive(from: source, limit: limit) {
        case .received(let count):
            isBulk = count >= LinkPump.leastSpliced
            link.bytesArrived(Int64(count))
            return true
        case .failed:
            link.sourceEnded(.reset)
            return true
        case .nothing, nil:
            return false
        }
    }

    /// Sends up to `due` bytes of the queue, unless the sink is full; `false` when it is broken.
    private mutating func sendQueued(_ due: Int, to sink: StreamSocket) -> Bool {
        switch pipe.isEmpty ? queue.send(to: sink, limit: due) : pipe.send(to: sink, limit: due) {
        case .sent(let count): link.bytesDelivered(Int64(count))
        case .wouldBlock: break
        case .failed: return false
        }
        return true
    }

    /// Sends those bytes of a chunk that may leave, and queues the rest. The link has taken them.
    mutating func pass(_ chunk: Chunk, available: Int64, to sink: StreamSocket, now: Moment) -> Outcome? {
        // All of them vanished, or the reader holds them.
        guard chunk.count > 0 else { return nil }
        let canSend = sink.isWritable && pipe.isEmpty && queue.isEmpty
        var sent = 0
        switch link.next(available: available, canSend: canSend, now: now) {
        case .send(let due):
            switch sink.sendScratch(from: 0, length: min(chunk.count, Int(due)), endFollows: chunk.endFollows) {
            case .sent(let count):
                sent = count
                link.bytesDelivered(Int64(count))
            case .wouldBlock:
                break
            case .failed:
                return breakSink()
            }
        case .end(let end):
            return .ended(end)
        case .receive, .wait:
            break
        }
        isBulk = sent > 0 && chunk.count >= LinkPump.bulk
        if sent < chunk.count { queue.appendScratch(from: sent, length: chunk.count - sent, of: sink.loop) }
        return nil
    }

    private mutating func breakSink() -> Outcome {
        isSinkBroken = true
        wake = .distantFuture
        return .sinkBroken
    }
}
