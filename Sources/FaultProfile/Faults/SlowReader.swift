import Units

/// Reads from the sender at a rate, through a small window.
public struct SlowReader: Hashable, Sendable {
    /// The rate. Above zero.
    public var rate: BitRate
    /// The receive buffer towards the sender, which limits TCP's window: `smallestWindow` to `largestWindow`; `nil` for the
    /// system's default.
    public var window: ByteCount?

    /// The smallest window: 4 KiB, the system's minimum.
    public static let smallestWindow = ByteCount.kibibytes(4)
    /// The largest window, 64 MiB.
    public static let largestWindow = ByteCount.mebibytes(64)
}

extension SlowReader: FaultDefinition {
    static let word = "slow-reader"
    static let summary = "Bytes are taken from the sender slowly, through a small window."
    static let example = #"{ "kind": "slow-reader", "stream": "downstream", "rate": "50 KB/s", "window": "16 KiB" }"#
    static let table = ObjectTable(
        SlowReader(rate: BitRate(bitsPerSecond: 1)),
        texts: """
            rate: the rate at which bytes are taken, in each direction
            window: receive buffer of the proxy's socket towards the sender, for the whole connection
            """,
        [.required("rate", \.rate, .rate), .optional("window", \.window, windowSize, fallback: "the system's")]
    )

    private static let windowSize = Form.positiveSize.checked { window in
        guard window < smallestWindow || window > largestWindow else { return nil }
        let (smallest, largest) = (smallestWindow.text, largestWindow.text)
        return ("a window of \(window.text) can't be had", "write one from \(smallest.quoted) to \(largest.quoted)")
    }.described("size from `\"\(smallestWindow.text)\"` to `\"\(largestWindow.text)\"`")

    static var limits: [(text: String, name: String, value: String)] {
        let range = "\(smallestWindow.text) to \(largestWindow.text)"
        return [("receive buffer of a slow reader", "SlowReader.largestWindow", range)]
    }

    var kind: FaultKind { .slowReader(self) }
    var figures: FaultFigures { FaultFigures(text: "slow-reader \(rate.text)", rate: rate) }
    var reasonAgainstMessages: String? { "it bounds the buffer of a connection" }
}
