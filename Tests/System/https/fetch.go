package main

import (
	"io"
	"net/http"
	"os"
)

func main() {
	response, err := http.Get(os.Args[1])
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || len(body) != 300_000 {
		os.Exit(1)
	}
}
