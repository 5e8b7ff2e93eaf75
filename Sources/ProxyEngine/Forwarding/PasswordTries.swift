import FaultProfile
import Units

/// Spaces the wrong passwords of each client, so that a password can't be found by trying. A value without a clock.
///
/// After a wrong password, every answer to a client of the same address waits, whether its password is right or not: the time
/// tells nothing. A client of IPv6 is its network of 64 bits. At most `addressLimit` addresses are kept; with more, those that
/// aren't kept share their waits.
struct PasswordTries {
    /// The interval between the answers to two wrong passwords from one address: 1 s.
    static let interval = Duration.seconds(1)
    /// The longest wait of an answer: 8 s. A try that would wait longer gets none.
    static let longestWait = Duration.seconds(8)
    /// The most addresses: 1,024.
    static let addressLimit = 1_024

    /// The moment from which the next try of an address is answered at once.
    private var next: [String: Moment] = [:]

    /// When to answer a try of the client at `address`, which is empty if it has none; `nil` for never.
    mutating func answer(isRight: Bool, to address: String, at now: Moment) -> Moment? {
        let client = key(for: address, at: now)
        let moment = max(now, next[client] ?? now)
        guard moment - now <= PasswordTries.longestWait else { return nil }
        if !isRight { next[client] = moment + PasswordTries.interval }
        return moment
    }

    /// The key of an address; the empty one where there is no room for another.
    private mutating func key(for address: String, at now: Moment) -> String {
        let client = IPAddress(address).map(\.network) ?? address
        guard next[client] == nil, next.count >= PasswordTries.addressLimit else { return client }
        next = next.filter { $0.value > now }
        return next.count < PasswordTries.addressLimit ? client : ""
    }
}
