// Fetches a URL and exits with 0 if all of its bytes came.
package main

import (
	"io"
	"net/http"
	"os"
)

func main() {
	response, err := http.Get(os.Args[1])
	if err == nil {
		_, err = io.Copy(io.Discard, response.Body)
	}
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
}
