import Units

/// A value that an expectation compares.
enum ExpectationValue: Hashable, Sendable {
    case count(Int64)
    case time(Duration)
    case size(Int64)
    /// A share: 0.05 is 5 %.
    case share(Double)
    case text(String)

    /// What a value is, which both sides of a comparison have in common.
    enum Form: Hashable, Sendable {
        case count, time, size, share, text

        /// The form with its article.
        var title: String { words.title }
        /// A correct value.
        var example: String { words.example }

        private var words: (title: String, example: String) {
            switch self {
            case .count: ("a number", "3")
            case .time: ("a duration", "30 s")
            case .size: ("a size", "2 MiB")
            case .share: ("a share", "5 %")
            case .text: ("a text", "\"ab12…\"")
            }
        }
    }

    var form: Form {
        switch self {
        case .count: .count
        case .time: .time
        case .size: .size
        case .share: .share
        case .text: .text
        }
    }

    /// The value as people write it.
    var written: String {
        switch self {
        case .count(let count): "\(count)"
        case .time(let time): Self.rounded(time).text
        case .size(let bytes):
            bytes < 10_000 ? "\(bytes) B" : "\(bytes) B (\(Self.decimal(Double(bytes) / 1_048_576, 2)) MiB)"
        case .share(let share): "\(Self.decimal(share * 100, 1)) %"
        case .text(let text): "\"\(text)\""
        }
    }

    /// Whether the comparison holds; both values have the same form.
    func compares(_ comparison: Comparison, to other: ExpectationValue) -> Bool {
        switch (self, other) {
        case (.count(let left), .count(let right)): comparison.holds(left, right)
        case (.time(let left), .time(let right)): comparison.holds(left, right)
        case (.size(let left), .size(let right)): comparison.holds(left, right)
        case (.share(let left), .share(let right)): comparison.holds(left, right)
        case (.text(let left), .text(let right)): comparison.holds(left.lowercased(), right.lowercased())
        default: preconditionFailure("the sides of a comparison have been read to have one form")
        }
    }

    private static func rounded(_ time: Duration) -> Duration {
        let unit: Int64 = time < .seconds(1) ? 1_000_000 : 10_000_000
        return .nanoseconds((time.nanoseconds + unit / 2) / unit * unit)
    }

    /// A number with at most `places` decimals.
    private static func decimal(_ number: Double, _ places: Int) -> String {
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        let text = "\((number * scale).rounded() / scale)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
