import SystemPackage
import Testing

@testable import SquallCommand

/// Who may read the file of `--authority`.
struct LastingAuthorityTests {
    @Test(arguments: [
        // (mode, owner, user of the process, accepted)
        (0o600, 1000, 1000, true), (0o400, 1000, 1000, true), (0o600, 0, 0, true),
        (0o640, 0, 1000, true), (0o440, 0, 1000, true),
        (0o640, 1000, 1000, false), (0o440, 1000, 1000, false), (0o640, 0, 0, false), (0o440, 1001, 1000, false),
        (0o660, 0, 1000, false), (0o650, 0, 1000, false), (0o644, 0, 1000, false), (0o604, 1000, 1000, false),
    ])
    func `the group may read a file of root's alone, and not where the process is root's`(
        mode: UInt32,
        owner: UInt32,
        user: UInt32,
        isAccepted: Bool
    ) {
        let permissions = FilePermissions(rawValue: mode)
        let isPrivate = LastingAuthority.isPrivate(permissions, owner: UserID(owner), user: UserID(user))
        #expect(isPrivate == isAccepted)
    }
}
