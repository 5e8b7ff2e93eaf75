import Foundation
import Testing

/// The command examples of README.md.
@Suite(.timeLimit(.minutes(5))) struct ReadmeTests {
    /// The first profile on the page.
    private static func profile(in page: String) throws -> String {
        String(try #require(page.firstMatch(of: #/```json\n(.*?)```/#.dotMatchesNewlines()), "no profile").output.1)
    }

    /// The lines after the one that runs `command`.
    private static func shown(behind command: String, in page: String) throws -> [String] {
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let start = try #require(lines.firstIndex(of: "    $ \(command)"), "the page doesn't run “\(command)”")
        return lines[(start + 1)...].prefix { $0.hasPrefix("    ") }.map { String($0.dropFirst(4)) }
    }

    @Test func `the first profile is valid, and a typo in it is reported as on the page`() async throws {
        let page = try Repository.text("README.md")
        let profile = try ReadmeTests.profile(in: page)
        try await withFolder { folder in
            let file = folder.appendingPathComponent("cut-late.json")
            try Data(profile.utf8).write(to: file)
            let fine = try await squall("check", "cut-late.json", folder: folder)
            #expect(fine.status == 0, "\(fine.errors)")
            try Data(profile.replacing("\"at\"", with: "\"att\"").utf8).write(to: file)
            let typo = try await squall("check", "cut-late.json", folder: folder)
            #expect(try ReadmeTests.shown(behind: "squall check cut-late.json", in: page) == typo.errorLines)
        }
    }
}
