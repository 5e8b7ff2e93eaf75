import Units

/// The changes that faults make to bytes.
extension StageChain {
    /// The next change to the `count` bytes after `arrived` others, see `Link.nextAlteration`.
    mutating func nextAlteration(
        of count: Int64,
        behind arrived: Int64,
        now: Moment,
        _ events: inout [FaultEvent]
    ) -> Alteration? {
        if now >= interval.end { interval = schedule.interval(at: now) }
        let age = now.nanoseconds.subtractingSaturated(opened.nanoseconds)
        let end = arrived.addingSaturated(count)
        lookForAlterations(at: now, age: age)
        while true {
            alterationsSought += 1 + alterSlots.count / 4
            let (chosen, offset) = firstAlterer()
            guard alterSlots[chosen].isReached(by: end) else {
                for index in alterSlots.indices where alterSlots[index].isSuspended {
                    alterSlots[index].alterer.spare(before: end)
                }
                return nil
            }
            // Inserted bytes have no position in the source.
            let inserted = max(0, insertedEnd - offset)
            let position = offset + inserted + marks.vanished
            if alterSlots[chosen].pass(position) {
                alterSlots[chosen].lookUpNext(vanished: marks.vanished)
                continue
            }
            let (isSelected, boundary) = alterSlots[chosen].gate?.state(at: position) ?? (true, .max)
            guard isSelected, offset >= arrived,
                alterSlots[chosen].window.contains(at: now, age: age, currentPhase: interval.phase)
            else {
                let until =
                    isSelected
                    ? max(arrived, offset + 1) : min(end, boundary.subtractingSaturated(marks.vanished))
                miss(chosen, before: until)
                continue
            }
            let index = offset - arrived
            let available = min(count - index, (boundary - position).addingSaturated(inserted))
            let altered = alterSlots[chosen].alterer.alter(index: index, available: available)
            switch altered.alteration {
            case .flip:
                alterSlots[chosen].lookUpNext(vanished: marks.vanished)
            case .drop(_, let dropped):
                vanish(dropped, at: offset, by: chosen)
                for index in slots.indices {
                    slots[index].stage.bytesVanished(at: now, byOwn: slots[index].fault == alterSlots[chosen].fault)
                }
            case .insert(_, let bytes):
                marks.bytesInserted(Int64(bytes.count), at: position)
                insertedEnd = offset + inserted + Int64(bytes.count)
                for index in alterSlots.indices {
                    alterSlots[index].alterer.inserted(Int64(bytes.count), at: offset)
                    alterSlots[index].lookUpNext(vanished: marks.vanished)
                }
            }
            if let reported = altered.reported {
                let event = FaultEvent(
                    fault: alterSlots[chosen].fault,
                    offset: reported.request == nil && reported.hasOffset ? reported.place?.offset ?? offset : nil,
                    place: reported.place?.place ?? reported.request,
                    effect: reported.effect
                )
                let mayNotPass = endsStreams && event.effect != .discards
                if mayNotPass { self.altered.append((offset, event)) } else { events.append(event) }
            }
            return altered.alteration
        }
    }

    /// Whether a fault may end the stream in front of bytes that were taken. It comes first.
    var endsStreams: Bool { slots.first?.rank == StageRank.end.rawValue }

    /// Puts the events of bytes in front of `end` among the others, at `index`. Those behind it wait: the end may be withdrawn.
    mutating func takeAltered(before end: Int64, at index: Int, _ events: inout [FaultEvent]) {
        events.insert(contentsOf: altered.lazy.filter { $0.offset < end }.map(\.event), at: index)
        altered.removeAll { $0.offset < end }
    }

    /// Removes `count` bytes after `offset`: first those inserted there, then source bytes.
    private mutating func vanish(_ count: Int64, at offset: Int64, by chosen: Int) {
        let inserted = min(count, max(0, insertedEnd - offset))
        if inserted > 0 {
            marks.insertedVanished(inserted)
            insertedEnd -= inserted
        }
        if count > inserted { marks.bytesVanished(count - inserted, at: max(offset, insertedEnd)) }
        let start = max(offset, insertedEnd) + marks.vanished - (count - inserted)
        for index in alterSlots.indices {
            if index != chosen { alterSlots[index].alterer.vanished(start..<start + count - inserted) }
            alterSlots[index].lookUpNext(vanished: marks.vanished)
        }
    }

    /// Looks up where each fault acts next, unless done at `now` with no mark since.
    private mutating func lookForAlterations(at now: Moment, age: Int64) {
        guard alterationsLookedAt != now else { return }
        alterationsLookedAt = now
        for index in alterSlots.indices {
            alterSlots[index].look(at: now, age: age, phase: interval.phase, vanished: marks.vanished)
        }
    }

    /// The fault that changes the first byte, and its offset; `Int64.max` if none does.
    private func firstAlterer() -> (index: Int, offset: Int64) {
        var (chosen, offset) = (0, Int64.max)
        for index in alterSlots.indices where alterSlots[index].next <= offset {
            let next = alterSlots[index].next
            // A removed byte isn't changed first.
            let isFirst = next == offset && alterSlots[index].order < alterSlots[chosen].order
            if next < offset || isFirst { (chosen, offset) = (index, next) }
        }
        return (chosen, offset)
    }

    /// Skips the next byte of a fault, or with a rate all bytes before `offset`.
    private mutating func miss(_ index: Int, before offset: Int64) {
        if alterSlots[index].hasRate {
            alterSlots[index].alterer.spare(before: offset)
            alterSlots[index].alterer.skipSuspended()
        } else {
            alterSlots[index].alterer.miss()
        }
        alterSlots[index].lookUpNext(vanished: marks.vanished)
    }
}
