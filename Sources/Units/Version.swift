/// The version of the package.
package enum Version {
    /// As `--version` prints it, and as it stands in journals.
    package static let current = "0.1.0"
}
