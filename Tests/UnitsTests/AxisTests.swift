import Testing
import Units

/// The labels of drawings.
@Suite struct AxisTests {
    @Test(
        arguments: [
            (999_960, "1 Mbit/s"), (999_949, "999.9 kbit/s"), (3_199_500, "3.2 Mbit/s"), (12e6, "12 Mbit/s"),
            (999.6, "1 kbit/s"), (7.4, "7 bit/s"), (0, "0 bit/s"), (9e18, "9000000 Tbit/s"),
        ] as [(Double, String)]
    )
    func `a rate is rounded to the nearest, and never cut`(rate: Double, text: String) {
        #expect(NearestText.rate(bitsPerSecond: rate) == text)
    }

    @Test(arguments: [
        (12_960, "13.0 s"), (12_949, "12.9 s"), (1_000, "1.0 s"), (999, "999 ms"), (80, "80 ms"), (0, "0 s"),
    ])
    func `a time is rounded to the nearest`(milliseconds: Int, text: String) {
        #expect(NearestText.time(.milliseconds(milliseconds)) == text)
        #expect(NearestText.time(.microseconds(9_940)) == "9.9 ms")
        #expect(NearestText.time(.microseconds(9_960)) == "10 ms")
    }

    @Test func `a size is rounded to the nearest`() {
        #expect(NearestText.size(64 << 20) == "64 MiB")
        #expect(NearestText.size(1_048_575) == "1 MiB")
        #expect(NearestText.size(1_536) == "1.5 KiB")
        #expect(NearestText.size(1_023) == "1023 B")
    }

    @Test(
        arguments: [
            (8e6, [2e6, 4e6, 6e6, 8e6], "8 Mbit/s"), (8.1e6, [2e6, 4e6, 6e6, 8e6, 10e6], "10 Mbit/s"),
            (1e6, [2e5, 4e5, 6e5, 8e5, 1e6], "1 Mbit/s"), (12e6, [5e6, 10e6, 15e6], "15 Mbit/s"), (1, [1], "1 bit/s"),
        ] as [(Double, [Double], String)]
    )
    func `an axis of rates ends at a round tick that covers the highest`(
        highest: Double,
        ticks: [Double],
        last: String
    ) {
        let axis = RateTicks(covering: highest, count: 5)
        #expect(axis.rates == ticks)
        #expect(axis.rates.last.map(axis.text) == last)
    }

    @Test func `an axis of rates has one unit, and each label is its tick`() {
        let axis = RateTicks(covering: 900_000, count: 5)
        #expect(axis.rates.map(axis.text) == ["0.2 Mbit/s", "0.4 Mbit/s", "0.6 Mbit/s", "0.8 Mbit/s", "1 Mbit/s"])
    }

    @Test func `an axis of delays ends at a round tick that covers the longest`() {
        let axis = DelayTicks(covering: .milliseconds(361), count: 4)
        #expect(axis.delays.map(axis.text) == ["100 ms", "200 ms", "300 ms", "400 ms"])
        let long = DelayTicks(covering: .milliseconds(1_700), count: 4)
        #expect(long.delays.map(long.text) == ["0.5 s", "1 s", "1.5 s", "2 s"])
        let short = DelayTicks(covering: .microseconds(3), count: 4)
        #expect(short.delays.map(short.text) == ["1 µs", "2 µs", "3 µs"])
    }
}
