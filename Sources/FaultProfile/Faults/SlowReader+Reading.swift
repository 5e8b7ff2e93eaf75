import Units

extension SlowReader {
    static let keys: [KeyShape] = [
        .required("rate", .rate),
        .optional("window", .positiveSize),
    ]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let window = decoder.positiveSize(object, "window")
        if let window, window < SlowReader.smallestWindow || window > SlowReader.largestWindow {
            let (smallest, largest) = (SlowReader.smallestWindow.text, SlowReader.largestWindow.text)
            decoder.report(
                "a window of \(window.text) can't be had",
                remedy: "write one from \(smallest.quoted) to \(largest.quoted)",
                at: object["window"]?.place ?? object.place
            )
        }
        guard let rate = decoder.rate(object, "rate") else { return nil }
        self.init(rate: rate, window: window)
    }
}
