import Units

/// The line of a rate in front of a virtual sender: when each byte comes, whenever the link is asked.
struct Feed {
    /// The offset of the line at a time, in nanoseconds.
    private(set) var offset: Int64
    let start: Int64
    let rate: BitRate
    /// The bytes that come at a time; larger ones come in segments.
    let quantum: Int64
    /// What is kept of bytes that the sender has no room for, and whether some were given up.
    let kept: Int64
    private(set) var hasLost = false
    /// Whether the rate holds more bytes back.
    let hasMore: Bool

    /// When the line reaches an offset.
    func time(of end: Int64) -> Int64 { start.addingSaturated(rate.nanoseconds(forBytes: end - offset)) }

    /// How far the line has come at a time.
    func end(at now: Int64) -> Int64 {
        offset.addingSaturated(rate.bytes(inNanoseconds: now.subtractingSaturated(start)))
    }

    /// Gives up what the sender had no room for at `now`, beyond `end` and what is kept.
    mutating func hold(to end: Int64, at now: Int64) {
        let excess = self.end(at: now).subtractingSaturated(end).subtractingSaturated(kept)
        guard excess > 0 else { return }
        offset -= excess
        hasLost = true
    }

    /// How far the sender lets bytes come, as far as the rate has to know.
    func settledEnd(at now: Moment) -> Int64 {
        hasLost ? end(at: now.nanoseconds).subtractingSaturated(kept) : .max
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
        let (stop, size) = (steps + Self.stepLimit, min(Self.segment, feed.quantum))
        var time = max(asked, min(earliest, now))
        while limit < wanted, steps < stop {
            steps += 1
            let piece = (limit / size + 1) * size
            if piece > wanted, feed.hasMore { break }
            // What has come already, as of a burst, is taken at once.
            let due = min(feed.end(at: min(time, now)), wanted, roomEnd)
            let end = due.subtractingSaturated(limit) > Self.segment ? due : min(piece, wanted)
            time = max(time, feed.time(of: end))
            let event = run(until: min(time, now), stop: stop)
            let room = roomEnd
            if end > room, event <= now {
                // The rate has no burst allowance until an acknowledgement makes room.
                time = event
                run(until: time, stop: stop)
                feed.hold(to: room, at: time)
            } else if end > room || time > now {
                break
            } else {
                limit = end
                send(at: time)
            }
        }
        return limit
    }
}
