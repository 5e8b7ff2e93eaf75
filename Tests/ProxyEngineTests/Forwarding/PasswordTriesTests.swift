import Testing
import Units

@testable import ProxyEngine

/// The waits of clients after wrong passwords.
@Suite struct PasswordTriesTests {
    private static let start = Moment.zero + .seconds(100)

    /// The waits of the answers to tries at one moment; `nil` for none.
    private func waits(
        _ tries: inout PasswordTries,
        _ isRight: [Bool],
        _ address: String,
        at now: Moment
    ) -> [Duration?] {
        isRight.map { isRight in tries.answer(isRight: isRight, to: address, at: now).map { $0 - now } }
    }

    @Test func `the first wrong password is answered at once, the next ones a second apart, right or not`() {
        var tries = PasswordTries()
        let wrong = waits(&tries, [false, false, false], "192.0.2.7", at: Self.start)
        #expect(wrong == [.zero, .seconds(1), .seconds(2)])
        #expect(waits(&tries, [true, true], "192.0.2.7", at: Self.start) == [.seconds(3), .seconds(3)])
        #expect(waits(&tries, [true], "192.0.2.7", at: Self.start + .seconds(2)) == [.seconds(1)])
        #expect(waits(&tries, [true, false], "192.0.2.7", at: Self.start + .seconds(4)) == [.zero, .zero])
    }

    @Test func `right passwords and other addresses don't wait`() {
        var tries = PasswordTries()
        #expect(waits(&tries, [true, true, true], "192.0.2.7", at: Self.start) == [.zero, .zero, .zero])
        _ = waits(&tries, [false], "192.0.2.7", at: Self.start)
        #expect(waits(&tries, [true], "192.0.2.8", at: Self.start) == [.zero])
    }

    @Test func `a network of IPv6 is one client`() {
        var tries = PasswordTries()
        _ = waits(&tries, [false], "2001:db8:0:7::1", at: Self.start)
        #expect(waits(&tries, [true], "2001:db8:0:7:8::9", at: Self.start) == [.seconds(1)])
        #expect(waits(&tries, [true], "2001:db8:0:8::1", at: Self.start) == [.zero])
    }

    @Test func `a try that would wait for more than eight seconds gets no answer`() {
        var tries = PasswordTries()
        let wrong = waits(&tries, Array(repeating: false, count: 12), "192.0.2.7", at: Self.start)
        #expect(wrong.compactMap { $0 } == (0...8).map { Duration.seconds($0) })
        #expect(waits(&tries, [true], "192.0.2.7", at: Self.start) == [nil])
        #expect(waits(&tries, [true], "192.0.2.7", at: Self.start + .seconds(1)) == [.seconds(8)])
    }

    @Test func `beyond 1,024 addresses further ones wait for each other`() {
        var tries = PasswordTries()
        for index in 0..<PasswordTries.addressLimit {
            _ = tries.answer(isRight: false, to: "10.0.\(index / 256).\(index % 256)", at: Self.start)
        }
        #expect(waits(&tries, [false], "192.0.2.7", at: Self.start) == [.zero])
        #expect(waits(&tries, [true], "192.0.2.8", at: Self.start) == [.seconds(1)])
        #expect(waits(&tries, [true], "10.0.0.1", at: Self.start) == [.seconds(1)])
        // Addresses whose waits are over make room.
        #expect(waits(&tries, [false, false], "192.0.2.9", at: Self.start + .seconds(2)) == [.zero, .seconds(1)])
        #expect(waits(&tries, [true], "192.0.2.8", at: Self.start + .seconds(2)) == [.zero])
    }
}
