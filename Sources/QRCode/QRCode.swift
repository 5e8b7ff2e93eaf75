/// A QR code of a short text: what a phone's camera reads (ISO/IEC 18004).
///
/// The code is in byte mode with error correction level M, in the smallest of versions 1 to 6 that holds the text.
public struct QRCode: Equatable, Sendable {
    /// The longest text, in bytes of UTF-8: 106.
    public static let longestText = QRVersion.all.last.map { $0.capacity } ?? 0

    /// The modules in a row, and the rows: 21 to 41.
    public let size: Int
    private let dark: [Bool]

    /// The code of `text`; `nil` if it is longer than `longestText`.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard let version = QRVersion.all.first(where: { bytes.count <= $0.capacity }) else { return nil }
        let matrix = QRMatrix.best(for: version, codewords: version.codewords(of: bytes))
        (size, dark) = (version.size, matrix.dark)
    }

    /// Whether the module at `row` and `column`, each from 0, is dark. Modules outside of the code are light.
    public func isDark(row: Int, column: Int) -> Bool {
        (0..<size).contains(row) && (0..<size).contains(column) && dark[row * size + column]
    }

    /// The width of the light border that readers need, in modules (section 6.3.8).
    static let quietZone = 4

    /// The code with its border as lines of text. A character is one module wide and two high.
    ///
    /// Dark modules are spaces and light ones are blocks, so the code is right where the text is lighter than its ground.
    /// Give `isInverted` for dark text on a light ground.
    public func lines(isInverted: Bool = false) -> [String] {
        let range = (-QRCode.quietZone)..<(size + QRCode.quietZone)
        return stride(from: range.lowerBound, to: range.upperBound, by: 2).map { row in
            String(
                range.map { column -> Character in
                    let upper = isDark(row: row, column: column) == isInverted
                    let lower = row + 1 < range.upperBound && isDark(row: row + 1, column: column) == isInverted
                    return upper ? (lower ? "█" : "▀") : (lower ? "▄" : " ")
                }
            )
        }
    }
}
