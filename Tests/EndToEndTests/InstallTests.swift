import Foundation
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

    @Test func `without PyPI the tests are built all the same, and a line names the one that will fail`() async throws {
        try await withFolder { folder in
            // A copy beside no .build, where an earlier run may have installed everything, and a pip that installs nothing.
            let scripts = folder.appendingPathComponent("scripts")
            let copy = scripts.appendingPathComponent("install.sh")
            let python = scripts.appendingPathComponent("python3")
            try FileManager.default.createDirectory(at: scripts, withIntermediateDirectories: true)
            try Data(Repository.text("scripts/install.sh").utf8).write(to: copy)
            try Data("#!/bin/sh\n[ \"$3\" = --version ]\n".utf8).write(to: python)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: python.path)
            let path = "\(scripts.path):\(ProcessInfo.processInfo.environment["PATH"] ?? "")"
            let outcome = try await withChild(
                Programs.find("bash"),
                [copy.path, "test"],
                environment: ["PATH": path]
            ) { await $0.finish() }
            #expect(outcome.status == 0)
            #expect(outcome.lines.last?.hasSuffix("one test of ToxiproxyClientTests will fail") == true, "\(outcome)")
        }
    }
}
