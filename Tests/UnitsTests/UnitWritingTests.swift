import Testing
import Units

@Suite struct UnitWritingTests {
    @Test(arguments: [
        (0, "0 s"), (1, "1 ns"), (1_500, "1.5 us"), (250_000_000, "250 ms"), (1_500_000_000, "1.5 s"),
        (90_000_000_000, "90 s"), (120_000_000_000, "2 min"), (3_600_000_000_000, "1 h"),
        (1_234_567_891, "1234567891 ns"), (-250_000_000, "-250 ms"),
    ])
    func `a duration is written in the unit that makes it short`(nanoseconds: Int64, text: String) {
        #expect(Duration.nanoseconds(nanoseconds).text == text)
    }

    @Test(arguments: [
        (0, "0 B"), (1, "1 B"), (1_000, "1 KB"), (1_024, "1 KiB"), (1_025, "1025 B"), (65_536, "64 KiB"),
        (1_000_000, "1 MB"), (1_048_576, "1 MiB"), (1_572_864, "1.5 MiB"), (-1, "-1 B"),
    ])
    func `a size is written in the unit that makes it short`(bytes: Int64, text: String) {
        #expect(ByteCount(bytes).text == text)
    }

    @Test(arguments: [
        (0, "0 bit/s"), (1, "1 bit/s"), (500_000, "500 kbit/s"), (20_000_000, "20 Mbit/s"), (40_000_000, "40 Mbit/s"),
        (1_638_400, "1638.4 kbit/s"), (8_388_608, "1 MiB/s"), (2_500_000_000, "2.5 Gbit/s"),
    ])
    func `a rate is written in bits, or in bytes where bits make a long number`(bitsPerSecond: Int64, text: String) {
        #expect(BitRate(bitsPerSecond: bitsPerSecond).text == text)
    }

    @Test(arguments: [
        (0, "0 %"), (0.02, "2 %"), (0.005, "0.5 %"), (0.333, "33.3 %"), (0.1, "10 %"), (1, "100 %"),
        (1e-7, "0.00001 %"), (2.5e-7, "0.000025 %"), (0.07, "7 %"),
    ])
    func `a chance is written in percent without rounding noise`(fraction: Double, text: String) throws {
        #expect(try #require(Probability(fraction)).text == text)
    }

    @Test func `what is written is read back to the same value`() throws {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<500 {
            // Every magnitude, and many zeros at the end, so that every unit has its turn.
            let bits = Int64(generator.next() >> (1 + generator.next() % 62))
            for value in [bits, bits / 1_000 * 1_000, (bits >> 10) << 10, bits / 1_000_000 * 1_000_000] {
                #expect(try Duration(parsing: Duration.nanoseconds(value).text) == .nanoseconds(value))
                #expect(try ByteCount(parsing: ByteCount(value).text) == ByteCount(value))
                let rate = BitRate(bitsPerSecond: value)
                #expect(try BitRate(parsing: rate.text) == rate)
            }
            let fraction = generator.nextFraction() / Double(1 << (generator.next() % 60))
            let chance = try #require(Probability(fraction))
            #expect(try Probability(parsing: chance.text) == chance)
        }
        for fraction in [Double.leastNonzeroMagnitude, .leastNormalMagnitude, .ulpOfOne, 1.0.nextDown] {
            let chance = try #require(Probability(fraction))
            #expect(try Probability(parsing: chance.text) == chance)
        }
    }
}
