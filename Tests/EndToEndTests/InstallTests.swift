import Testing

/// scripts/install.sh, which every Makefile target starts with.
@Suite(.timeLimit(.minutes(5))) struct InstallTests {
    @Test func `who lacks Swift hears so before anything is installed`() async throws {
        try await withFolder { empty in
            let script = Repository.root.appendingPathComponent("scripts/install.sh").path
            let outcome = try await withChild(
                Programs.find("bash"),
                [script, "build", "test"],
                environment: ["PATH": empty.path]
            ) { await $0.finish() }
            #expect(outcome.status == 1)
            #expect(outcome.output.isEmpty)
            #expect(outcome.errorLines.count == 1)
            #expect(outcome.errors.contains("the Swift toolchain (6.2 or newer) is missing"), "\(outcome.errors)")
        }
    }
}
