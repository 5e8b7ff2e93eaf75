import Units

extension LinkFaults {
    /// What the stages say in one round.
    struct LinkProgress {
        /// How far the stream may have come behind the last of them.
        var progress: StreamProgress
        /// Up to where bytes may be taken in, as far as the stages that hold them say, if there are any.
        var readEnd: Int64?
        /// Up to where they may be handed over at a time.
        var writeLimit = Int64.max
        /// When to ask again.
        var wake = Moment.distantFuture
        /// The offset at which a fault ends the stream.
        var stop: Int64?
        /// Whether nothing passes any more.
        var isBlackholed = false
        /// Whether nothing passes for now.
        var isPaused = false

        /// Whether a sender limits what is taken in: what the stages behind it have no room for waits in its buffer.
        private var isBuffered = false

        init(_ progress: StreamProgress) {
            self.progress = progress
        }

        /// What the first stage that holds bytes could take in, if all of them have room for it.
        mutating func take(_ availableEnd: Int64, upTo limit: Int64, isSender: Bool) {
            if isBuffered { return }
            readEnd = min(readEnd ?? availableEnd, limit)
            isBuffered = isSender && limit < .max
        }
    }
}
