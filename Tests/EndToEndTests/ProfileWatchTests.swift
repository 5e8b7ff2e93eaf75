import Testing

@testable import squall

@Suite struct ProfileWatchTests {
    private let file = FileStamp("/")
    private let other = FileStamp("/proc")

    @Test func `files that stay the same aren't read again`() {
        var watch = ProfileWatch([file])
        #expect(watch.look([file]) == .nothing)
        #expect(watch.look([file]) == .nothing)
    }

    @Test func `after a change the files are read twice, and problems are told the second time`() {
        var watch = ProfileWatch([file])
        #expect(watch.look([nil]) == .read(tellsProblems: false))
        #expect(watch.look([nil]) == .read(tellsProblems: true))
        #expect(watch.look([nil]) == .nothing)
    }

    @Test func `while a file goes on changing no problem is told`() {
        var watch = ProfileWatch([file])
        for _ in 0..<3 {
            #expect(watch.look([nil]) == .read(tellsProblems: false))
            #expect(watch.look([other]) == .read(tellsProblems: false))
        }
        #expect(watch.look([other]) == .read(tellsProblems: true))
    }

    @Test func `other files to watch are no change`() {
        var watch = ProfileWatch([file])
        watch.follow([file, other])
        #expect(watch.look([file, other]) == .nothing)
        #expect(file != other && file != nil && FileStamp("/nowhere") == nil)
    }
}
