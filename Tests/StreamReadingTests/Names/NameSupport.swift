import StreamReading
import TestProtocols

extension HelloText {
    /// The hello that OpenSSL 3.0 sends to Recorded.Example.com.
    static let recorded: [UInt8] = {
        let digits = Array(recordedDigits.utf8).map { $0 < 0x3A ? $0 - 0x30 : $0 - 0x57 }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }()

    private static let recordedDigits =
        "16030101410100013d0303e6ccbbd6954d27e17e46163c1382f94c4f83ba1b07f4ce7f0a691d58af111ed920ef7ca9fa"
        + "27e954f423a648f5e0c00c420df1f44daec1302d65f2d1b05746f258003e130213031301c02cc030009fcca9cca8ccaa"
        + "c02bc02f009ec024c028006bc023c0270067c00ac0140039c009c0130033009d009c003d003c0035002f00ff010000b6"
        + "0000001900170000145265636f726465642e4578616d706c652e636f6d000b000403000102000a00160014001d001700"
        + "1e0019001801000101010201030104002300000016000000170000000d002a0028040305030603080708080809080a08"
        + "0b080408050806040105010601030303010302040205020602002b0009080304030303020301002d0002010100330026"
        + "0024001d0020c3d3ad3a0bfcf7c82f8f8287f7cb6c97229a4b6e236dd258a7716a1df6c7ec5c"
}

/// What a reader makes of `bytes`, given in pieces of `readSize`, and how many it has read.
func name(in bytes: [UInt8], readSize: Int = .max) -> (outcome: NameReader.Outcome, read: Int) {
    var reader = NameReader()
    var start = 0
    while start < bytes.count {
        let end = start + min(readSize, bytes.count - start, reader.room)
        let outcome = reader.read(bytes.span.extracting(start..<end))
        start = end
        if outcome != .incomplete { return (outcome, start) }
    }
    return (.incomplete, start)
}

/// The same of a text.
func name(in text: String, readSize: Int = .max) -> NameReader.Outcome {
    name(in: Array(text.utf8), readSize: readSize).outcome
}
