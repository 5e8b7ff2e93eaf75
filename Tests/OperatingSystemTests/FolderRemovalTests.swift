import CProcess
import Glibc
import TestStreams
import Testing

/// The removal of a run's folder.
struct FolderRemovalTests {
    @Test func `directories that deny their owner go with their content, and what a link leads to stays`() async {
        await #expect(processExitsWith: .success) {
            let folder = try Folder()
            try #require(chdir(folder.path) == 0)
            // Permissions don't count for root.
            if geteuid() == 0 {
                try #require(chown(".", 65_534, 65_534) == 0 && setgid(65_534) == 0 && setuid(65_534) == 0)
            }
            for path in ["kept", "run", "run/a", "run/a/b", "run/c", "run/c/d"] {
                try #require(mkdir(path, 0o700) == 0)
            }
            for path in ["kept/file", "run/c/d/file"] { try #require(close(creat(path, 0o400)) == 0) }
            for path in ["run/link", "run/c/link"] { try #require(symlink("\(folder.path)/kept", path) == 0) }
            for (path, mode) in [("run/c/d", 0o555), ("run/c", 0o555), ("run/a", 0), ("run", 0o100), ("kept", 0o555)] {
                try #require(chmod(path, mode_t(mode)) == 0)
            }
            squall_remove_folder("run")
            #expect(access("run", F_OK) != 0)
            #expect(access("kept/file", F_OK) == 0 && access("kept", W_OK) != 0, "nothing of it has changed")
            chmod("kept", 0o700)
        }
    }
}
