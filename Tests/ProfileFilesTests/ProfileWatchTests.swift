import Testing

@testable import ProfileFiles

@Suite struct ProfileWatchTests {
    private let file = FileStamp("/")
    private let other = FileStamp("/proc")

    @Test func `files that stay the same aren't read again`() {
        var watch = ProfileWatch([file])
        #expect(watch.poll([file]) == .nothing)
        #expect(watch.poll([file]) == .nothing)
    }

    @Test func `after a change the files are read twice, and problems are reported the second time`() {
        var watch = ProfileWatch([file])
        #expect(watch.poll([nil]) == .read(reportsProblems: false))
        #expect(watch.poll([nil]) == .read(reportsProblems: true))
        #expect(watch.poll([nil]) == .nothing)
    }

    @Test func `while a file keeps changing no problem is reported`() {
        var watch = ProfileWatch([file])
        for _ in 0..<3 {
            #expect(watch.poll([nil]) == .read(reportsProblems: false))
            #expect(watch.poll([other]) == .read(reportsProblems: false))
        }
        #expect(watch.poll([other]) == .read(reportsProblems: true))
    }

    @Test func `other files to watch are no change`() {
        var watch = ProfileWatch([file])
        watch.follow([file, other])
        #expect(watch.poll([file, other]) == .nothing)
        #expect(file != other && file != nil && FileStamp("/nowhere") == nil)
    }
}
