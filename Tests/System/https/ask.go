package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

// Fetches a URL, as often as is asked for, and prints the bytes of the body, the protocols, and why there are no more.
func main() {
	client := &http.Client{Timeout: 3 * time.Second}
	times, _ := strconv.Atoi(os.Args[2])
	for ; times > 0; times-- {
		response, err := client.Get(os.Args[1])
		if err != nil {
			fmt.Printf("0||%v\n", err)
			continue
		}
		count, err := io.Copy(io.Discard, response.Body)
		response.Body.Close()
		problem := ""
		if err != nil {
			problem = err.Error()
		}
		fmt.Printf("%d|%s %s|%s\n", count, response.Proto, response.TLS.NegotiatedProtocol, problem)
	}
}
