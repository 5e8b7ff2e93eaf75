package main

import (
	"crypto/tls"
	"os"
)

// Shakes hands with HOST:PORT as if it were NAME, and verifies that.
func main() {
	if _, err := tls.Dial("tcp", os.Args[1], &tls.Config{ServerName: os.Args[2]}); err != nil {
		println(err.Error())
		os.Exit(1)
	}
}
