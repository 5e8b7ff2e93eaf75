import Units

/// `count` bytes for a test, the same for the same seed, and without a period, so that a wrong offset shows.
package func testBytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var generator = SeededGenerator(seed: seed)
    // Eight at a time: in a build that isn't optimized each step counts.
    let words = (0..<(count + 7) / 8).map { _ in generator.next() }
    return unsafe words.withUnsafeBytes { unsafe Array(UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
}
