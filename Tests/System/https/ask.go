package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// Fetches a URL, and prints its bytes or why there are none.
func main() {
	client := &http.Client{Timeout: 3 * time.Second}
	response, err := client.Get(os.Args[1])
	if err != nil {
		fmt.Println(err)
		return
	}
	body, err := io.ReadAll(response.Body)
	fmt.Println(len(body), err)
}
