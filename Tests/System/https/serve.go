package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
)

// Serves HTTPS on three ports: with ALPN of HTTP/1.1 alone, of HTTP/2 alone, and without ALPN. `/N` has N bytes, with their length; a POST is
// answered as a call of gRPC with an empty message. Ends with its input.
func main() {
	pair, err := tls.LoadX509KeyPair(os.Args[1], os.Args[2])
	if err != nil {
		panic(err)
	}
	for _, protocols := range [][]string{{"http/1.1"}, {"h2"}, nil} {
		settings := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: protocols}
		server := &http.Server{Handler: http.HandlerFunc(answer), TLSConfig: settings.Clone(), ErrorLog: log.New(io.Discard, "", 0)}
		if protocols == nil || protocols[0] != "h2" {
			server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		fmt.Printf("%d ", listener.Addr().(*net.TCPAddr).Port)
		go server.Serve(tls.NewListener(listener, settings))
	}
	fmt.Println()
	io.Copy(io.Discard, os.Stdin)
}

func answer(writer http.ResponseWriter, request *http.Request) {
	if request.Method == "POST" {
		writer.Header().Set("Content-Type", "application/grpc")
		writer.Header().Set("Trailer", "Grpc-Status")
		writer.Write(make([]byte, 5))
		writer.Header().Set("Grpc-Status", "0")
		return
	}
	size, _ := strconv.Atoi(request.URL.Path[1:])
	writer.Header().Set("Content-Length", strconv.Itoa(size))
	writer.Header().Set("Content-Type", "text/plain")
	if request.ProtoMajor == 1 {
		writer.Header().Set("Connection", "close")
	}
	writer.Write(bytes.Repeat([]byte("x"), size))
}
