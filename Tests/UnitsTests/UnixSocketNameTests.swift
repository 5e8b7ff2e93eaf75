import Testing
import Units

@Suite("The name of a Unix socket")
struct UnixSocketNameTests {
    @Test(arguments: ["/run/app.sock", "app.sock", "./8080", "@app", "a:b", "//run/app.sock", "ä"])
    func `is a path or an abstract name`(text: String) throws {
        let name = try UnixSocketName(parsing: "unix:\(text)")
        #expect(name.text == text)
        #expect(name.isAbstract == text.hasPrefix("@"))
        #expect(name.description == "unix:\(text)")
    }

    @Test
    func `has 107 bytes at most, without the mark of an abstract one`() throws {
        for text in ["/" + String(repeating: "a", count: 106), "@" + String(repeating: "a", count: 107)] {
            _ = try UnixSocketName(parsing: "unix:\(text)")
            #expect(throws: UnitError.self) { try UnixSocketName(parsing: "unix:\(text)a") }
        }
        let umlauts = String(repeating: "ä", count: 54)
        let error = #expect(throws: UnitError.self) { try UnixSocketName(parsing: "unix:\(umlauts)") }
        #expect(error?.problem.hasPrefix("the name of a Unix socket has 107 bytes at most, and “ä") == true)
        #expect(error?.problem.hasSuffix(" has 108") == true)
        #expect(error?.remedy == "write a shorter path, perhaps a relative one")
    }

    @Test(
        arguments: [
            ("unix:", "has no name"), ("unix:@", "has no name"), ("unix:/run/", "is a folder"),
            ("unix:/a\u{0}b", "has a control character"), ("unix:/a\nb", "has a control character"),
            ("unix:8080", "may be a port of the host “unix” or a file"),
        ]
    )
    func `that is none says why`(text: String, problem: String) {
        let error = #expect(throws: UnitError.self) { try UnixSocketName(parsing: text) }
        #expect(error?.problem.hasSuffix(problem) == true)
    }
}

@Suite("Permissions of a file")
struct SocketPermissionsTests {
    @Test(arguments: [("0660", 0o660), ("660", 0o660), ("0000", 0), ("0777", 0o777), ("007", 7)])
    func `are three octal digits`(text: String, bits: UInt16) throws {
        let permissions = try SocketPermissions(parsing: text)
        #expect(permissions.bits == bits)
        #expect(try SocketPermissions(parsing: permissions.description) == permissions)
        #expect(permissions.description.count == 4)
    }

    @Test(arguments: ["", "66", "1660", "00660", "0689", "rw-", "+660", "０６６０"])
    func `are nothing else`(text: String) {
        #expect(throws: UnitError.self) { try SocketPermissions(parsing: text) }
    }
}
