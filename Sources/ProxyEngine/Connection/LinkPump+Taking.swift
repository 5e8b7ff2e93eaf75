import EventLoop
import FaultPlan
import StreamReading
import Units

/// From the scratch buffer into the link: bytes are read for faults that ask for positions in them, and altered.
extension LinkPump {
    /// Has the link take a chunk, portion by portion as the reader finds positions. Afterwards the chunk is without the bytes
    /// that vanished or are held by the reader, and with those that were inserted.
    @inline(never)  // A chunk that nothing reads or alters would pay for checks of exclusive access in here.
    mutating func take(_ chunk: inout Chunk, _ reader: StreamReader, in loop: EventLoop, now: Moment) {
        var (count, taken, next) = (chunk.count, 0, 0)
        var hasMore = true
        while hasMore {
            var portion = count - next
            hasMore = false
            if !reader.isIdle {
                let read = loop.withScratch(count) {
                    reader.read($0.extracting(next...), link.direction, at: now, into: &link)
                }
                (portion, hasMore) = (read.count, read.hasMore)
            }
            var (left, inserted) = (portion, 0)
            if link.altersBytes {
                (left, inserted) = altered(portion, behind: next, of: count, in: loop, now: now)
                count += inserted
            }
            // The gap is closed portion by portion, so a byte moves once.
            if next > taken, left > 0 { loop.removeScratch(at: taken, count: next - taken, of: next + left) }
            next += portion + inserted
            taken += left
            link.bytesArrived(Int64(left), at: chunk.arrival)
        }
        chunk.count = taken
    }

    /// The number of bytes at `offset` of the scratch buffer that may be forwarded, of the `count` received there: a client's
    /// bytes after its only request are dropped, and the head of a server's response is changed or held.
    func admit(_ count: Int, behind offset: Int, _ reader: StreamReader, in loop: EventLoop) -> Int {
        switch link.direction {
        case .upstream:
            return loop.withScratch(offset + count) { reader.admit($0.extracting(offset...)) }
        case .downstream:
            guard reader.announcesEnd else { return count }
            let bytes = loop.withScratch(offset + count) { reader.announceEnd($0.extracting(offset...)) }
            loop.insertScratch(bytes, at: offset, of: offset)
            return bytes.count
        }
    }

    /// Takes `bytes` as the first of the stream, in place of the source, and passes on those that may leave.
    mutating func begin(with bytes: [UInt8], _ reader: StreamReader, to sink: StreamSocket, now: Moment) -> Outcome? {
        if !reader.isIdle { reader.timeAdvanced(to: now, link.direction) }
        sink.loop.fillScratch(with: bytes)
        var chunk = Chunk(count: bytes.count, arrival: now)
        take(&chunk, reader, in: sink.loop, now: now)
        let outcome = pass(chunk, available: 0, to: sink, now: now)
        guard reader.endsRequests, outcome == nil else { return outcome }
        return end(.finish, reader, to: sink, now: now)
    }

    /// Puts the bytes that the reader holds at the start of the scratch buffer; returns their number.
    func putHeldInFront(_ reader: StreamReader, of loop: EventLoop) -> Int {
        let count = reader.heldCount(link.direction)
        if count > 0 { loop.fillScratch(with: reader.held(link.direction)) }
        return count
    }

    /// Passes on bytes that the reader held and no longer needs.
    mutating func release(_ reader: StreamReader, to sink: StreamSocket, now: Moment) -> Outcome? {
        guard reader.mustRelease(link.direction), link.sourceEnd == nil else { return nil }
        var chunk = Chunk(count: putHeldInFront(reader, of: sink.loop))
        take(&chunk, reader, in: sink.loop, now: now)
        return pass(chunk, available: 0, to: sink, now: now)
    }

    /// The source has ended, after the bytes that the reader held.
    mutating func end(_ ending: SourceEnd, _ reader: StreamReader, to sink: StreamSocket, now: Moment) -> Outcome? {
        var outcome: Outcome?
        if !reader.isIdle {
            if link.direction == .downstream { outcome = passUnfinishedResponse(reader, to: sink, now: now) }
            reader.sourceEnded(link.direction)
            outcome = outcome ?? release(reader, to: sink, now: now)
        }
        link.sourceEnded(ending)
        return outcome
    }

    private mutating func passUnfinishedResponse(_ reader: StreamReader, to sink: StreamSocket, now: Moment) -> Outcome?
    {
        let rest = reader.takeUnfinishedResponse()
        guard !rest.isEmpty else { return nil }
        let offset = putHeldInFront(reader, of: sink.loop)
        sink.loop.insertScratch(rest, at: offset, of: offset)
        var chunk = Chunk(count: offset + rest.count)
        take(&chunk, reader, in: sink.loop, now: now)
        return pass(chunk, available: 0, to: sink, now: now)
    }

    /// Alters `portion` bytes of the scratch buffer, after the first `start` of `count` bytes, as the link decides. Returns
    /// how many are left, inserted ones included, and by how many bytes the buffer has grown.
    private mutating func altered(
        _ portion: Int,
        behind start: Int,
        of count: Int,
        in loop: EventLoop,
        now: Moment
    ) -> (left: Int, inserted: Int) {
        var (left, inserted) = (portion, 0)
        while left > 0, let alteration = link.nextAlteration(of: Int64(left), now: now) {
            switch alteration {
            case .flip(let index, let mask):
                loop.flipScratch(at: start + Int(index), mask: mask)
            case .drop(let index, let dropped):
                loop.removeScratch(at: start + Int(index), count: Int(dropped), of: start + left)
                left -= Int(dropped)
            case .insert(let index, let bytes):
                loop.insertScratch(bytes, at: start + Int(index), of: count + inserted)
                left += bytes.count
                inserted += bytes.count
            }
        }
        return (left, inserted)
    }
}
