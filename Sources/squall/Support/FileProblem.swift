import Foundation
import SystemPackage

/// What went wrong with a file, in the system's words.
enum FileProblem {
    /// "No space left on device (errno 28)" where Foundation's error comes from the system, else Foundation's words.
    static func reason(_ error: any Error) -> String {
        let top = error as NSError
        let system = [top, top.userInfo[NSUnderlyingErrorKey] as? NSError].compactMap { $0 }
            .first { $0.domain == NSPOSIXErrorDomain }
        guard let number = system.map({ Errno(rawValue: CInt(clamping: $0.code)) }) ?? errno(of: top) else {
            return top.localizedDescription
        }
        return "\(number) (errno \(number.rawValue))"
    }

    /// The error number behind a code of Foundation's own, which it tells without the system's.
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
