import Testing

@testable import QRCode

@Suite struct QRCodeTests {
    @Test func `a code has the modules that another encoder draws`() throws {
        let code = try #require(QRCode("http://192.168.7.20:8888"))
        let rows = (0..<code.size).map { row in
            String((0..<code.size).map { code.isDark(row: row, column: $0) ? "#" : "." })
        }
        // From the Python package qrcode 8.2, at level M.
        let wanted = """
            #######.##..#.#...#######
            #.....#.#..#.##...#.....#
            #.###.#...##.#.#..#.###.#
            #.###.#.##...#....#.###.#
            #.###.#...###..#..#.###.#
            #.....#..#####....#.....#
            #######.#.#.#.#.#.#######
            ........##....###........
            #.##.###.##.......#..#.##
            .##.##.##...###..#.....#.
            #.##.####...###..#.##....
            #.###....###.#.#..#####..
            ###...#.#.#..#....###.###
            .###.#..#..#.#.#.##.#...#
            .#.##.#.#.#.##..###...##.
            #.##.#..#...#..#.....#..#
            ....#.#.####.############
            ........#.#.#.###...#...#
            #######.#####...#.#.#####
            #.....#.#...#.#.#...#..#.
            #.###.#..###....#####...#
            #.###.#.#.#.#####.###.###
            #.###.#.#..#..##..#.####.
            #.....#..##..#.#....#.#..
            #######.#.##.#.#.########
            """
        #expect(rows.joined(separator: "\n") == wanted)
    }

    @Test(arguments: [
        (0, 21), (14, 21), (15, 25), (26, 25), (27, 29), (42, 29), (43, 33), (62, 33), (84, 37), (106, 41),
    ])
    func `the smallest version that holds the text is taken`(length: Int, size: Int) throws {
        let code = try #require(QRCode(String(repeating: "a", count: length)))
        #expect(code.size == size)
    }

    @Test func `a text is as long as its bytes, and 106 is the limit`() {
        #expect(QRCode.longestText == 106)
        #expect(QRCode(String(repeating: "a", count: 107)) == nil)
        #expect(QRCode(String(repeating: "ä", count: 53)) != nil)
        #expect(QRCode(String(repeating: "ä", count: 54)) == nil)
    }

    @Test func `the error correction is that of the example of ISO 18004, annex I`() {
        let data: [UInt8] = [
            0x10, 0x20, 0x0C, 0x56, 0x61, 0x80, 0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11, 0xEC, 0x11,
        ]
        let correction: [UInt8] = [0xA5, 0x24, 0xD4, 0xC1, 0xED, 0x36, 0xC7, 0x87, 0x2C, 0x55]
        #expect(ReedSolomon.correction(of: data, count: 10) == correction)
    }

    @Test func `the lines have a light border of four modules, and two rows each`() throws {
        let code = try #require(QRCode("a"))
        let lines = code.lines()
        #expect(lines.count == 15)
        #expect(lines.allSatisfy { $0.count == 29 })
        #expect(lines[0] == String(repeating: "█", count: 29))
        #expect(lines[1] == lines[0])
        #expect(lines[2].hasPrefix("████ ▄▄▄▄▄ "))
        #expect(lines[14] == String(repeating: "▀", count: 29))
    }

    @Test func `on a light ground the lines are the other way round`() throws {
        let code = try #require(QRCode("a"))
        let (dark, light) = (code.lines(isInverted: true), code.lines())
        let opposite: [Character: Character] = ["█": " ", " ": "█", "▀": "▄", "▄": "▀"]
        #expect(dark.dropLast() == ArraySlice(light.dropLast().map { String($0.compactMap { opposite[$0] }) }))
        #expect(dark.last == String(repeating: " ", count: 29))
    }
}
