/// Why a test can't continue.
package struct Complaint: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
