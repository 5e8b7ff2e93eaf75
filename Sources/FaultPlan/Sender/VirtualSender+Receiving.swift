import Units

/// What arrives at the receiver of a sender.
extension VirtualSender {
    /// Returns until when the receiver acknowledges a packet that will arrive.
    mutating func arrive(_ bytes: Int64, isPushed: Bool, at moment: Int64) -> Int64 {
        while openHole < holes.end, holes[openHole].repair < .max { openHole += 1 }
        let hasGap = openHole < holes.end
        let end = hasGap ? holes[openHole].start : next
        return receiver.receive(bytes, upTo: end, hasGap: hasGap, isPushed: isPushed, at: moment)
    }

    mutating func receive(until now: Int64) {
        while arriving < flight.end, flight[arriving].arrival <= now { deliver(arriving) }
        while awaited < holes.end, holes[awaited].repair <= now { awaited += 1 }
    }

    private mutating func deliver(_ number: Int) {
        let packet = flight[number]
        if !packet.isLost { arrivedEnd = max(arrivedEnd, packet.end) }
        arriving = number + 1
    }

    /// Takes the first packet out of the flight, because it or a later one is acknowledged.
    mutating func takeFirst() -> Transmission {
        let packet = flight[flight.start]
        if arriving == flight.start { deliver(arriving) }
        flight.removeFirst()
        if isPaced { samples.removeFirst() }
        if !packet.isLost {
            while awaitedWhenAcknowledged < holes.end, holes[awaitedWhenAcknowledged].repair <= packet.arrival {
                awaitedWhenAcknowledged += 1
            }
        }
        return packet
    }

    /// Takes packets out of the flight that are all like the last of them: sent once, and arrived.
    mutating func takePlain(through last: Int) {
        let end = flight[last].end
        if arriving <= last { (arriving, arrivedEnd) = (last + 1, end) }
        acknowledgedEnd = end
        pipe -= last + 1 - flight.start
        flight.removeFirst(through: last)
    }

    /// Forgets holes that neither side waits for.
    mutating func forgetHoles() {
        let first = min(awaited, awaitedWhenAcknowledged, openHole)
        while holes.start < first, holes[holes.start].state == .repaired { holes.removeFirst() }
        firstMarked = max(firstMarked, holes.start)
    }
}
