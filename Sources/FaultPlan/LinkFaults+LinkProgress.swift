extension LinkFaults {
    /// The combined result of all stages in one call.
    struct LinkProgress {
        /// How far the stream may have come after the last stage.
        var progress: StreamProgress
        /// The offset up to which bytes may be taken in; `nil` if no stage holds bytes.
        var readEnd: Int64?
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
