import Foundation
import Testing

/// The completion script for bash, in a bash that has nothing else.
@Suite(.timeLimit(.minutes(5))) struct CompletionTests {
    /// Calls the completion as readline does, with the cursor at the end of the line, and prints a candidate a line.
    private static let script = """
        source <(echo "$3")
        COMP_LINE="squall $2"
        COMP_POINT=${#COMP_LINE}
        read -ra COMP_WORDS <<< "$COMP_LINE"
        if [[ $COMP_LINE == *' ' ]]; then COMP_WORDS+=(''); fi
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
        # The script calls the command by the first word of the line.
        COMP_WORDS[0]=$1
        function=$(complete -p squall | sed 's/.*-F \\([^ ]*\\).*/\\1/')
        "$function" squall "$current" "$previous"
        printf '%s\\n' "${COMPREPLY[@]}"
        """

    /// The script that the command writes, once for all tests.
    private static let generated = Task { try await squall("--generate-completion-script", "bash") }

    /// The candidates at the end of "squall " and `line`.
    private func candidates(_ line: String, folder: URL? = nil) async throws -> [String] {
        let generated = try await CompletionTests.generated.value
        #expect(generated.status == 0)
        let outcome = try await withChild(
            Programs.find("bash"),
            [
                "--norc", "--noprofile", "-c", CompletionTests.script, "bash", Programs.squall.path, line,
                generated.output,
            ],
            folder: folder
        ) { await $0.finish() }
        #expect(outcome.errors.isEmpty)
        return outcome.lines
    }

    @Test(arguments: [
        "run", "check", "plan", "demo", "profiles", "test --profile", "test --profile slow-3g --profile",
        "replay --profile", "check slow-3g", "ctl apply",
    ])
    func `a profile's name is completed`(command: String) async throws {
        #expect(try await candidates("\(command) wifi-wa") == ["wifi-walkaway"])
        #expect(try await candidates("\(command) nlc-3g-g") == ["nlc-3g-good"])
        let all = try await candidates("\(command) ")
        #expect(Set(all).isSuperset(of: Repository.profiles + Repository.presets))
    }

    @Test func `a path of a JSON file is completed`() async throws {
        try await withFolder { folder in
            let inside = folder.appendingPathComponent("zones")
            try FileManager.default.createDirectory(at: inside, withIntermediateDirectories: true)
            for name in ["zones/a.json", "zones/b.txt", "zoo.json"] {
                try Data().write(to: folder.appendingPathComponent(name))
            }
            #expect(try await candidates("run zo", folder: folder) == ["zones/", "zoo.json"])
            #expect(try await candidates("run zones/", folder: folder) == ["zones/a.json"])
            #expect(try await candidates("run ./zones/a", folder: folder) == ["./zones/a.json"])
        }
    }

    @Test func `commands and options are completed`() async throws {
        #expect(try await candidates("ru") == ["run"])
        #expect(try await candidates("run wifi-roam --jour") == ["--journal"])
        #expect(try await candidates("check --format ") == ["text", "json", "github", "sarif"])
    }
}
