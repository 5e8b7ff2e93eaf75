/// A value in memory of its own that is changed where it is, so that whoever holds it can be moved about cheaply.
///
/// Still a value: a copy of a box has a copy of its value, made when either is changed.
struct Box<Value: Sendable>: Sendable {
    private var contents: ContiguousArray<Value>

    init(_ value: Value) {
        contents = [value]
    }

    var value: Value {
        get { contents[0] }
        _modify { yield &contents[0] }
    }
}
