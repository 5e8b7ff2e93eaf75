import Units

/// What the world does by itself, in the order of its moments; of one moment in the order in which it was put in.
struct Agenda {
    enum Task {
        /// Bytes in flight arrive at the peer.
        case arrive(SimulatedSocket)
        /// A connect(2) of the proxy is answered.
        case answerConnect(SimulatedSocket)
        /// A peer of the proxy goes on.
        case act(Peer)
        /// A send that was refused for the moment finds room.
        case makeRoom(SimulatedSocket)
        /// Something else.
        case run(() -> Void)
    }

    private struct Entry {
        let moment: Moment
        let number: UInt64
        let task: Task

        static func < (left: Entry, right: Entry) -> Bool {
            (left.moment.nanoseconds, left.number) < (right.moment.nanoseconds, right.number)
        }
    }

    private var heap: [Entry] = []
    private var count: UInt64 = 0

    /// The moment of the first; `distantFuture` where there is none.
    var next: Moment { heap.first?.moment ?? .distantFuture }

    mutating func add(_ task: Task, at moment: Moment) {
        count += 1
        heap.append(Entry(moment: moment, number: count, task: task))
        var place = heap.count - 1
        while place > 0, heap[place] < heap[(place - 1) / 2] {
            heap.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    mutating func removeFirst() -> Task {
        heap.swapAt(0, heap.count - 1)
        let first = heap.removeLast()
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2] where child < heap.count && heap[child] < heap[least] {
                least = child
            }
            if least == place { return first.task }
            heap.swapAt(place, least)
            place = least
        }
    }
}
