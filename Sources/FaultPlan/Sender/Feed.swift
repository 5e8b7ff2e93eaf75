import Units

/// The line of a rate in front of a virtual sender: when each byte comes, whenever the link is asked.
struct Feed {
    /// The offset of the line at a time, in nanoseconds.
    private var offset: Int64
    private let start: Int64
    private let rate: BitRate
    /// The bytes that come at a time, at most a segment.
    let piece: Int64
    /// What is kept of bytes that the sender has no room for.
    private let kept: Int64
    /// Whether the rate holds more bytes back, and the end of those that wait in front of the link.
    let hasMore: Bool
    let waiting: Int64
    /// What was given up.
    private(set) var lost: Int64 = 0

    init(offset: Int64, at start: Int64, rate: BitRate, quantum: Int64, kept: Int64, hasMore: Bool, waiting: Int64) {
        (self.offset, self.start, self.rate, self.kept) = (offset, start, rate, kept)
        (self.hasMore, self.waiting) = (hasMore, waiting)
        piece = min(VirtualSender.segment, quantum)
    }

    /// When the line reaches an offset.
    func time(of end: Int64) -> Int64 { start.addingSaturated(rate.nanoseconds(forBytes: end - offset)) }

    /// Gives up what the sender had no room for at `now`, beyond `end` and what is kept.
    mutating func hold(to end: Int64, at now: Int64) {
        let line = offset.addingSaturated(rate.bytes(inNanoseconds: now.subtractingSaturated(start)))
        let excess = line.subtractingSaturated(end).subtractingSaturated(kept)
        guard excess > 0 else { return }
        offset -= excess
        lost += excess
    }
}

extension VirtualSender {
    /// The end of the send buffer: two windows and 64 KiB after the sent segments. Those after a hole have been sent and wait
    /// for the missing ones. Inlined, because a call copies the sender.
    @inline(__always) var roomEnd: Int64 {
        next.addingSaturated(windowBytes).addingSaturated(windowBytes).addingSaturated(64 << 10)
    }

    /// Takes bytes up to `wanted` as a rate lets them come, each piece at its own time until `now`, but not before `earliest`.
    /// Returns how far they have come.
    mutating func take(_ feed: inout Feed, upTo wanted: Int64, since earliest: Int64, now: Int64) -> Int64 {
        let stop = steps + Self.stepLimit
        var time = max(asked, min(earliest, now))
        while limit < wanted, steps < stop {
            let piece = (limit / feed.piece + 1) * feed.piece
            if piece > wanted, feed.hasMore { break }
            let end = min(piece, wanted)
            // Bytes that weren't there at the last call have come since.
            time = max(time, feed.time(of: end), end > waited ? now : time)
            var event = run(until: min(time, now), stop: stop)
            let room = roomEnd
            if end > room, event <= now {
                // The rate saves nothing up until an acknowledgement makes room.
                time = event
                event = run(until: time, stop: stop)
                feed.hold(to: room, at: time)
            } else if end > room || time > now {
                break
            } else {
                limit = end
                send(at: time)
            }
        }
        waited = feed.waiting
        return limit
    }
}
