import Units

extension StatusSelection {
    var written: JSONText {
        range.lowerBound == range.upperBound ? .number(UInt64(range.lowerBound)) : .text(text)
    }
}
