import FaultPlan

/// A transfer of the demo.
package enum DemoTransfer: String {
    case download, upload

    /// The direction of its bytes.
    var direction: Direction {
        switch self {
        case .download: .downstream
        case .upload: .upstream
        }
    }

    /// The state of a transfer.
    package enum State {
        case running, done, failed
    }

    /// The first half of a failure message.
    var failure: String {
        switch self {
        case .download: "the file did not arrive"
        case .upload: "the uploaded file did not arrive"
        }
    }
}
