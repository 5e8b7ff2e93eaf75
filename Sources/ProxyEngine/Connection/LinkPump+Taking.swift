import EventLoop
import FaultPlan
import StreamReading
import Units

/// From the scratch buffer into the link: the bytes are read, if a fault asks for what they say, and changed.
extension LinkPump {
    /// Has the link take the first `count` bytes of the scratch buffer, in portions as the reader finds positions in them.
    ///
    /// - Returns: how many are at the start of the buffer then, when some have vanished, some were put in, and the reader
    ///   holds some.
    mutating func take(_ count: Int, _ reader: StreamReader, in loop: EventLoop, now: Moment) -> Int {
        var (count, taken, next) = (count, 0, 0)
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
            // What vanished is closed up portion by portion: no byte is moved for what vanishes in others.
            if next > taken, left > 0 { loop.removeScratch(at: taken, count: next - taken, of: next + left) }
            next += portion + inserted
            taken += left
            if left > 0 { link.bytesArrived(Int64(left)) } else { link.bytesVanished() }
        }
        return taken
    }

    /// Puts the bytes that the reader holds at the start of the scratch buffer; returns how many.
    func putHeldInFront(_ reader: StreamReader, of loop: EventLoop) -> Int {
        let count = reader.heldCount(link.direction)
        if count > 0 { loop.fillScratch(with: reader.held(link.direction)) }
        return count
    }

    /// Passes on what the reader held and has no need for any more.
    mutating func release(_ reader: StreamReader, to sink: StreamSocket, now: Moment) -> Outcome? {
        guard reader.mustRelease(link.direction), link.sourceEnd == nil else { return nil }
        let count = putHeldInFront(reader, of: sink.loop)
        let taken = take(count, reader, in: sink.loop, now: now)
        return pass(taken, available: 0, to: sink, now: now)
    }

    /// The source has ended, behind what the reader held.
    mutating func end(_ ending: Ending, _ reader: StreamReader, to sink: StreamSocket, now: Moment) -> Outcome? {
        var outcome: Outcome?
        if !reader.isIdle {
            reader.sourceEnded(link.direction)
            outcome = release(reader, to: sink, now: now)
        }
        link.sourceEnded(ending)
        return outcome
    }

    /// Changes `portion` bytes of the scratch buffer, behind the first `start` of `count` bytes, as the link wants it;
    /// returns how many of them are left with what was put in, and how many more bytes there are in the buffer.
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
