import Foundation
import Testing

/// Pictures for programs other than browsers: literal colors, and PNG.
@Suite(.timeLimit(.minutes(5))) struct PictureFileTests {
    @Test(arguments: Repository.files(in: "docs/images", ending: ".svg"))
    func `a picture of the documentation has literal colors`(path: String) throws {
        let text = try Repository.text(path)
        #expect(!text.contains("var("), "few programs know custom properties")
        #expect(text.contains("prefers-color-scheme: dark"))
    }

    @Test(arguments: Repository.profiles)
    func `a drawing of a plan has literal colors`(profile: String) async throws {
        try await withFolder { folder in
            let plan = try await squall(words: "plan \(profile) --size 1MiB --seed 1 --svg p.svg", folder: folder)
            #expect(plan.status == 0)
            let text = try String(contentsOf: folder.appendingPathComponent("p.svg"), encoding: .utf8)
            #expect(!text.contains("var("))
            #expect(text.contains(".arrives, .delay { fill: none; stroke: #17774a;"))
        }
    }

    /// A program of the name in place of rsvg-convert, in a folder that is the whole PATH but for the shell's tools.
    private func withDrawer(_ script: String, _ body: (URL, [String: String]) async throws -> Void) async throws {
        try await withFolder { folder in
            let tools = folder.appendingPathComponent("tools")
            try FileManager.default.createDirectory(at: tools, withIntermediateDirectories: false)
            if !script.isEmpty {
                let program = tools.appendingPathComponent("rsvg-convert")
                // Written by another process: a program that this one has open for writing can't be started.
                let write = #"printf '%s\n' '#!/bin/sh' "$0" >"$1" && chmod 755 "$1""#
                _ = try await run("sh", ["-c", write, script, program.path])
            }
            try await body(folder, ["PATH": script.isEmpty ? tools.path : "\(tools.path):/usr/bin:/bin"])
        }
    }

    @Test func `--png has rsvg-convert draw the SVG at twice its size`() async throws {
        try await withDrawer(#"test "$1" = --zoom=2 && cat "$3" > "${2#--output=}""#) { folder, environment in
            let plan = try await squall(
                words: "plan slow-3g --size 1KiB --seed 1 --svg p.svg --png p.png",
                environment: environment,
                folder: folder
            )
            #expect(plan.status == 0, "\(plan.errors)")
            let drawn = try Data(contentsOf: folder.appendingPathComponent("p.png"))
            #expect(try drawn == Data(contentsOf: folder.appendingPathComponent("p.svg")))
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
            #expect(names == ["p.png", "p.svg", "tools"])
        }
    }

    @Test func `without rsvg-convert --png says what to install, and leaves the old picture`() async throws {
        try await withDrawer("") { folder, environment in
            let old = folder.appendingPathComponent("p.png")
            try Data("old".utf8).write(to: old)
            let plan = try await squall(
                words: "plan slow-3g --size 1KiB --png p.png",
                environment: environment,
                folder: folder
            )
            #expect(plan.status == 1)
            #expect(
                plan.errors
                    == "squall: --png needs rsvg-convert, which isn't installed: install Debian's package librsvg2-bin, "
                    + "or write --svg FILE\n"
            )
            #expect(try Data(contentsOf: old) == Data("old".utf8))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["p.png", "tools"])
        }
    }

    @Test func `a drawing that fails leaves the old picture`() async throws {
        try await withDrawer("exit 3") { folder, environment in
            try Data("old".utf8).write(to: folder.appendingPathComponent("p.png"))
            let plan = try await squall(
                words: "plan slow-3g --size 1KiB --png p.png",
                environment: environment,
                folder: folder
            )
            #expect(plan.status == 1)
            #expect(plan.errors == "squall: can't write “p.png”: rsvg-convert exited with 3\n")
            #expect(try Data(contentsOf: folder.appendingPathComponent("p.png")) == Data("old".utf8))
        }
    }
}
