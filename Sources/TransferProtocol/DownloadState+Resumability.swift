extension DownloadState {
    /// Why the next request would fetch everything again if the connection were lost now; `nil` if it would fetch the rest.
    public var reasonToStartOver: RestartReason? {
        var interrupted = self
        interrupted.bodyInterrupted()
        // The first byte of the response may be yet to come.
        interrupted.length = max(1, length)
        guard case .send(.full(let reason)) = interrupted.nextStep else { return nil }
        return reason
    }
}
