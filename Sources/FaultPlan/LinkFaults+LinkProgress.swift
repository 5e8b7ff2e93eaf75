import Units

extension LinkFaults {
    /// The combined result of all stages in one call.
    struct LinkProgress {
        /// How far the stream may have come after the last stage.
        var progress: StreamProgress
        /// The offset up to which bytes may be taken in; `nil` if no stage holds bytes.
        var readEnd: Int64?
        /// The offset up to which bytes may be written at a time.
        var writeLimit = Int64.max
        /// When to ask again.
        var wake = Moment.distantFuture
        /// The offset at which a fault ends the stream.
        var stop: Int64?
        /// Whether a fault has blackholed the stream for good.
        var isBlackholed = false
        /// Whether a fault lets nothing pass for now.
        var isPaused = false

        /// Whether a fault drops the bytes that come.
        var isDiscarding = false
        /// Whether a fault closes the connection now, whatever is held.
        var isClosing = false

        /// Whether a sender's buffer limits what is taken in, whatever later stages have room for.
        private var isBuffered = false

        init(_ progress: StreamProgress) {
            self.progress = progress
        }

        /// Limits what is taken in by the room of a stage that holds bytes.
        mutating func take(_ availableEnd: Int64, upTo limit: Int64, isSender: Bool) {
            if isBuffered { return }
            readEnd = min(readEnd ?? availableEnd, limit)
            isBuffered = isSender && limit < .max
        }
    }
}
