import TransferProtocol

/// Compares the leading bytes of an overlapping range with the last received ones.
struct OverlapCheck {
    private var expected: ArraySlice<UInt8>

    /// Reads the last `count` bytes of `file`; at most twice `DownloadState.maximumOverlap`.
    init(_ count: Int64, of file: PartialFile) async throws(TransferError) {
        expected = []
        guard count > 0 else { return }
        let length = file.length
        expected = try await file.bytes(in: length - count..<length)[...]
    }

    /// Whether the next bytes equal the received ones.
    mutating func matches(_ bytes: some Collection<UInt8>) -> Bool {
        let matching = expected.prefix(bytes.count).elementsEqual(bytes)
        expected = expected.dropFirst(bytes.count)
        return matching
    }
}
