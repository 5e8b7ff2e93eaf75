/// The modules of a QR code while it is drawn.
struct QRMatrix {
    private let size: Int
    private(set) var dark: [Bool]
    /// The modules of patterns, which hold no data.
    private var isReserved: [Bool]

    /// The drawing of `codewords` with the mask that is best to read (section 7.8.3).
    static func best(for version: QRVersion, codewords: [UInt8]) -> QRMatrix {
        var empty = QRMatrix(version)
        empty.place(codewords)
        let drawings = (0..<8).map { empty.masked($0) }
        return drawings.min { $0.penalty < $1.penalty } ?? empty
    }

    /// A matrix with its patterns, without data.
    private init(_ version: QRVersion) {
        size = version.size
        dark = Array(repeating: false, count: size * size)
        isReserved = dark
        for index in 0..<size {
            reserve(6, index, index.isMultiple(of: 2))
            reserve(index, 6, index.isMultiple(of: 2))
        }
        for (row, column) in [(3, 3), (3, size - 4), (size - 4, 3)] { drawFinder(row, column) }
        if let center = version.alignment { drawAlignment(center) }
        drawFormat(mask: 0)
    }

    private mutating func reserve(_ row: Int, _ column: Int, _ isDark: Bool) {
        dark[row * size + column] = isDark
        isReserved[row * size + column] = true
    }

    /// A square of 7 × 7 modules around a center, with a light border.
    private mutating func drawFinder(_ centerRow: Int, _ centerColumn: Int) {
        for row in (centerRow - 4)...(centerRow + 4) where (0..<size).contains(row) {
            for column in (centerColumn - 4)...(centerColumn + 4) where (0..<size).contains(column) {
                let distance = max(abs(row - centerRow), abs(column - centerColumn))
                reserve(row, column, distance != 2 && distance != 4)
            }
        }
    }

    private mutating func drawAlignment(_ center: Int) {
        for row in (center - 2)...(center + 2) {
            for column in (center - 2)...(center + 2) {
                reserve(row, column, max(abs(row - center), abs(column - center)) != 1)
            }
        }
    }

    /// The level and the mask, twice, protected by a BCH code (section 7.9). The bits of level M are 00.
    private mutating func drawFormat(mask: Int) {
        var rest = mask << 10
        for bit in (10...14).reversed() where rest >> bit & 1 == 1 { rest ^= 0x537 << (bit - 10) }
        let bits = (mask << 10 | rest) ^ 0x5412
        for bit in 0..<15 {
            let isDark = bits >> bit & 1 == 1
            switch bit {
            case 0...5: reserve(bit, 8, isDark)
            case 6, 7: reserve(bit + 1, 8, isDark)
            case 8: reserve(8, 7, isDark)
            default: reserve(8, 14 - bit, isDark)
            }
            if bit < 8 {
                reserve(8, size - 1 - bit, isDark)
            } else {
                reserve(size - 15 + bit, 8, isDark)
            }
        }
        reserve(size - 8, 8, true)
    }

    /// Places the bits of `codewords` in columns of two modules, upwards and downwards in turn, from the right.
    private mutating func place(_ codewords: [UInt8]) {
        var bit = 0
        // The column of the timing pattern is left out, and shifts those on its left.
        for right in stride(from: size - 1, to: 0, by: -2).map({ $0 > 6 ? $0 : $0 - 1 }) {
            let isUpward = ((right > 6 ? right : right + 1) - (size - 1)) % 4 == 0
            for step in 0..<size {
                let row = isUpward ? size - 1 - step : step
                for column in [right, right - 1] where !isReserved[row * size + column] {
                    // A few modules are left over and stay light.
                    guard bit < codewords.count * 8 else { continue }
                    dark[row * size + column] = codewords[bit / 8] >> (7 - bit % 8) & 1 == 1
                    bit += 1
                }
            }
        }
    }

    /// The matrix with the data under a mask (table 10).
    private func masked(_ mask: Int) -> QRMatrix {
        var copy = self
        for row in 0..<size {
            for column in 0..<size where !isReserved[row * size + column] {
                let flips =
                    switch mask {
                    case 0: (row + column) % 2 == 0
                    case 1: row % 2 == 0
                    case 2: column % 3 == 0
                    case 3: (row + column) % 3 == 0
                    case 4: (row / 2 + column / 3) % 2 == 0
                    case 5: row * column % 2 + row * column % 3 == 0
                    case 6: (row * column % 2 + row * column % 3) % 2 == 0
                    default: ((row + column) % 2 + row * column % 3) % 2 == 0
                    }
                if flips { copy.dark[row * size + column].toggle() }
            }
        }
        copy.drawFormat(mask: mask)
        return copy
    }

    // MARK: Penalty

    /// How hard the code is to read: runs of one color, blocks, patterns like a finder, and a lack of balance.
    private var penalty: Int {
        let rows = (0..<size).map { row in (0..<size).map { dark[row * size + $0] } }
        let columns = (0..<size).map { column in (0..<size).map { dark[$0 * size + column] } }
        let lines = rows + columns
        let unbalance = abs(dark.count { $0 } * 20 - dark.count * 10) / dark.count
        return lines.reduce(0) { $0 + runs(in: $1) + finders(in: $1) } + blocks + 10 * unbalance
    }

    private func runs(in line: [Bool]) -> Int {
        var (penalty, length) = (0, 1)
        for index in 1..<size {
            length = line[index] == line[index - 1] ? length + 1 : 1
            if length == 5 { penalty += 3 } else if length > 5 { penalty += 1 }
        }
        return penalty
    }

    private func finders(in line: [Bool]) -> Int {
        let core = [true, false, true, true, true, false, true]
        let light = [false, false, false, false]
        let patterns = [core + light, light + core]
        return (0...(size - 11)).reduce(0) { sum, start in
            sum + (patterns.contains(Array(line[start..<(start + 11)])) ? 40 : 0)
        }
    }

    private var blocks: Int {
        var penalty = 0
        for row in 1..<size {
            for column in 1..<size {
                let corner = dark[row * size + column]
                if corner == dark[row * size + column - 1], corner == dark[(row - 1) * size + column],
                    corner == dark[(row - 1) * size + column - 1]
                {
                    penalty += 3
                }
            }
        }
        return penalty
    }
}
