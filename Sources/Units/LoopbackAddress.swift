/// Addresses without a host, which are on the loopback interface.
public enum LoopbackAddress {
    /// The host of an address that leaves it out.
    public static let host = "127.0.0.1"

    /// An address with its host: ":5432" becomes "127.0.0.1:5432"; any other text stays as it is.
    public static func completing(_ text: String) -> String {
        let isPort = text.hasPrefix(":") && !text.dropFirst().contains(":")
        return isPort ? host + text : text
    }
}
