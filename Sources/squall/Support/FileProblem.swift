import Foundation
import SystemPackage

/// File errors in the system's words.
enum FileProblem {
    /// "No space left on device (errno 28)" for a system error wrapped by Foundation, else Foundation's description.
    static func reason(_ error: any Error) -> String {
        if let number = error as? Errno { return "\(number) (errno \(number.rawValue))" }
        let top = error as NSError
        let system = [top, top.userInfo[NSUnderlyingErrorKey] as? NSError].compactMap { $0 }
            .first { $0.domain == NSPOSIXErrorDomain }
        guard let number = system.map({ Errno(rawValue: CInt(clamping: $0.code)) }) ?? errno(of: top) else {
            return top.localizedDescription
        }
        return "\(number) (errno \(number.rawValue))"
    }

    /// Whether two paths refer to the same existing file.
    static func isSameFile(_ path: String, _ other: String) -> Bool {
        func numbers(_ path: String) -> [Int]? {
            let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
            guard let facts = try? FileManager.default.attributesOfItem(atPath: target) else { return nil }
            return [facts[.systemNumber], facts[.systemFileNumber]].compactMap { ($0 as? NSNumber)?.intValue }
        }
        guard let first = numbers(path), first.count == 2 else { return false }
        return first == numbers(other)
    }

    /// Whether two paths name one place, at which there may be no file.
    static func isSamePlace(_ path: String, _ other: String) -> Bool {
        let places = [path, other].map { URL(fileURLWithPath: $0).standardizedFileURL.resolvingSymlinksInPath().path }
        return places[0] == places[1] || isSameFile(path, other)
    }

    /// The error number for a Foundation code without an underlying system error.
    private static func errno(of error: NSError) -> Errno? {
        guard error.domain == NSCocoaErrorDomain else { return nil }
        switch CocoaError.Code(rawValue: error.code) {
        case .fileNoSuchFile, .fileReadNoSuchFile: return .noSuchFileOrDirectory
        case .fileReadNoPermission, .fileWriteNoPermission: return .permissionDenied
        case .fileWriteOutOfSpace: return .noSpace
        case .fileWriteVolumeReadOnly: return .readOnlyFileSystem
        case .fileWriteFileExists: return .fileExists
        default: return nil
        }
    }
}
