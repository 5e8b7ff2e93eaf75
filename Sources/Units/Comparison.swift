/// A comparison as it is written. Those of two characters come first: “>=” begins like “>”.
package enum Comparison: String, CaseIterable, Sendable {
    case atLeast = ">="
    case atMost = "<="
    case equal = "=="
    case unequal = "!="
    case above = ">"
    case below = "<"

    package func holds<Value: Comparable>(_ left: Value, _ right: Value) -> Bool {
        switch self {
        case .atLeast: left >= right
        case .atMost: left <= right
        case .equal: left == right
        case .unequal: left != right
        case .above: left > right
        case .below: left < right
        }
    }
}
