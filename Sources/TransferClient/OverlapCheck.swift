import TransferProtocol

/// Compares the first bytes of an early range with the last ones that are held.
struct OverlapCheck {
    private var expected: ArraySlice<UInt8>

    /// Reads the last `count` bytes of `file`; `DownloadState.longestOverlap` at most.
    init(_ count: Int64, of file: PartialFile) async throws(DownloadError) {
        expected = []
        guard count > 0 else { return }
        let length = file.length
        expected = try await file.bytes(in: length - count..<length)[...]
    }

    /// Whether the next bytes are the ones that are held.
    mutating func matches(_ bytes: some Collection<UInt8>) -> Bool {
        let matching = expected.prefix(bytes.count).elementsEqual(bytes)
        expected = expected.dropFirst(bytes.count)
        return matching
    }
}
