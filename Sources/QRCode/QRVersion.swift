/// A version of QR codes, which decides its size and how many bytes it holds at error correction level M.
struct QRVersion: Equatable, Sendable {
    /// The number of the version, 1 to 6.
    let number: Int
    /// The bytes of data in a block (ISO/IEC 18004, table 9).
    let dataInBlock: Int
    /// The bytes of error correction in a block.
    let correctionInBlock: Int
    /// The number of blocks.
    let blocks: Int

    /// The versions that need no version information, the smallest first.
    static let all = [
        QRVersion(number: 1, dataInBlock: 16, correctionInBlock: 10, blocks: 1),
        QRVersion(number: 2, dataInBlock: 28, correctionInBlock: 16, blocks: 1),
        QRVersion(number: 3, dataInBlock: 44, correctionInBlock: 26, blocks: 1),
        QRVersion(number: 4, dataInBlock: 32, correctionInBlock: 18, blocks: 2),
        QRVersion(number: 5, dataInBlock: 43, correctionInBlock: 24, blocks: 2),
        QRVersion(number: 6, dataInBlock: 27, correctionInBlock: 16, blocks: 4),
    ]

    /// The modules in a row.
    var size: Int { 17 + 4 * number }

    /// The bytes of text that fit. The mode and the length take 12 bits.
    var capacity: Int { dataInBlock * blocks - 2 }

    /// The row and column of the center of the alignment pattern; `nil` for version 1, which has none.
    var alignment: Int? { number == 1 ? nil : size - 7 }

    /// The bytes of the code in the order of their placement, with those of error correction (section 7.4 to 7.6).
    func codewords(of text: [UInt8]) -> [UInt8] {
        let data = padded(text)
        let parts = (0..<blocks).map { Array(data[($0 * dataInBlock)..<(($0 + 1) * dataInBlock)]) }
        let corrections = parts.map { ReedSolomon.correction(of: $0, count: correctionInBlock) }
        return interleaved(parts) + interleaved(corrections)
    }

    /// The mode, the length and the text, filled up to the size of the version.
    private func padded(_ text: [UInt8]) -> [UInt8] {
        // The mode is 4 bits and the length 8, so each byte of the text lies half in one codeword and half in the next.
        var halves: [UInt8] = [0b0100]
        for byte in [UInt8(text.count)] + text { halves += [byte >> 4, byte & 15] }
        halves.append(0)
        var data = stride(from: 0, to: halves.count, by: 2).map { halves[$0] << 4 | halves[$0 + 1] }
        for index in 0..<(dataInBlock * blocks - data.count) { data.append(index.isMultiple(of: 2) ? 0xEC : 0x11) }
        return data
    }

    private func interleaved(_ parts: [[UInt8]]) -> [UInt8] {
        (0..<(parts.first?.count ?? 0)).flatMap { index in parts.map { $0[index] } }
    }
}
