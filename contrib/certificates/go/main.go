// Go's crypto/tls, and the modules torchwood and formats for transparency logs:
// serve|dial FOLDER PORT [mutual]; notes|cosignatures FOLDER.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func check(ok bool, what string) {
	if !ok {
		fmt.Fprintln(os.Stderr, "failed:", what)
		os.Exit(1)
	}
}

func main() {
	switch os.Args[1] {
	case "notes":
		notes(os.Args[2])
		return
	case "cosignatures":
		cosignatures(os.Args[2])
		return
	}
	folder, address := os.Args[2], "127.0.0.1:"+os.Args[3]
	mutual := len(os.Args) > 4
	path := func(name string) string { return filepath.Join(folder, name+".pem") }
	roots := x509.NewCertPool()
	check(roots.AppendCertsFromPEM(must(os.ReadFile(path("root")))), "root.pem")
	config := &tls.Config{RootCAs: roots, ClientCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS13}
	if os.Args[1] == "serve" || mutual {
		config.Certificates = []tls.Certificate{must(tls.LoadX509KeyPair(path("chain"), path("key")))}
	}
	if os.Args[1] == "serve" {
		if mutual {
			config.ClientAuth = tls.RequireAndVerifyClientCert
		}
		listener := must(tls.Listen("tcp", address, config))
		fmt.Println("listening")
		connection := must(listener.Accept())
		must(connection.Read(make([]byte, 1024)))
		must(io.WriteString(connection, "HTTP/1.0 200 OK\r\n\r\nhello, world"))
		connection.Close()
		return
	}
	connection := must(tls.Dial("tcp", address, config))
	must(io.WriteString(connection, "GET / HTTP/1.0\r\n\r\n"))
	state := connection.ConnectionState()
	fmt.Printf("%s\n", must(io.ReadAll(connection)))
	fmt.Println(runtime.Version(), state.PeerCertificates[0].SignatureAlgorithm, state.CurveID)
}
