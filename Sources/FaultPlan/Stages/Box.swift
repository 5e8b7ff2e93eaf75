/// A value on the heap that is changed in place, so that its holder is cheap to move.
///
/// Has value semantics by copy on write.
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
