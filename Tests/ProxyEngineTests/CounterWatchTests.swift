import Synchronization
import Testing

@testable import ProxyEngine

@Suite struct CounterWatchTests {
    @Test func `a counter tells its watcher once, and again when it is asked again`() {
        let watch = CounterWatch()
        let told = Mutex(0)
        watch.noteChange()
        watch.arm { told.withLock { $0 += 1 } }
        #expect(told.withLock { $0 } == 0)
        watch.noteChange()
        watch.noteChange()
        #expect(told.withLock { $0 } == 1)
        watch.arm { told.withLock { $0 += 1 } }
        watch.noteChange()
        #expect(told.withLock { $0 } == 2)
    }
}
