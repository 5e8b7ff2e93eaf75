import EventLoop
import FaultPlan
import StreamReading
import Units

/// From the scratch buffer into the link: the bytes are read, if a fault asks for what they say, and changed.
extension LinkPump {
    /// Has the link take the first `count` bytes of the scratch buffer, in portions as the reader finds positions in them.
    ///
    /// - Returns: how many are left at the start of the buffer, when some have vanished or the reader holds them.
    mutating func take(_ count: Int, _ reader: StreamReader, in loop: EventLoop, now: Moment) -> Int {
        var (taken, next) = (0, 0)
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
            let left = link.altersBytes ? altered(portion, behind: next, in: loop, now: now) : portion
            // What vanished is closed up portion by portion: no byte is moved for what vanishes in others.
            if next > taken, left > 0 { loop.removeScratch(at: taken, count: next - taken, of: next + left) }
            next += portion
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

    /// Changes `count` bytes of the scratch buffer, behind the first `start`, as the link wants it; returns how many of
    /// them are left.
    private mutating func altered(_ count: Int, behind start: Int, in loop: EventLoop, now: Moment) -> Int {
        var count = count
        while count > 0, let alteration = link.nextAlteration(of: Int64(count), now: now) {
            switch alteration {
            case .flip(let index, let mask):
                loop.flipScratch(at: start + Int(index), mask: mask)
            case .drop(let index, let dropped):
                loop.removeScratch(at: start + Int(index), count: Int(dropped), of: start + count)
                count -= Int(dropped)
            }
        }
        return count
    }
}
