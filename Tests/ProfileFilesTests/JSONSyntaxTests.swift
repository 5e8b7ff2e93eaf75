import Foundation
import Testing

@testable import ProfileFiles

struct JSONSyntaxTests {
    @Test(arguments: [
        ("{}", true, true), (" {\"a\":[1,-2.5e3,true,null,\"x\"]}\n", true, true), ("[1]", true, false),
        ("null", true, false), ("12", true, false), ("\"a\"", true, false), ("", false, false), ("{", false, false),
        ("{\"a\":1}x", false, false), ("200 ms", false, false), ("127.0.0.1", false, false),
        ("1-2", false, false), ("{\"a\":1.2.3}", false, false), ("{'a':1}", false, false),
    ])
    func `JSON is told from other text`(text: String, isValid: Bool, isObject: Bool) {
        #expect(JSONSyntax.isValid(text.utf8) == isValid)
        #expect(JSONSyntax.isObject(text.utf8) == isObject)
        // The parser of Foundation agrees.
        let value = try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        #expect((value != nil) == isValid)
    }
}
