// Fetches a URL by URLSession and exits with 0 if all of its bytes came.
import Foundation
import FoundationNetworking

guard let url = URL(string: CommandLine.arguments[1]) else { exit(2) }
let (data, _) = try await URLSession.shared.data(from: url)
exit(data.count >= Int(CommandLine.arguments[2]) ?? 0 ? 0 : 1)
