module mldsa.example/go/comet

go 1.26

require (
	github.com/cometbft/cometbft v0.40.0
	mldsa.example/go v0.0.0
)

require (
	github.com/cloudflare/circl v1.6.5 // indirect
	github.com/ebitengine/purego v0.11.3 // indirect
	github.com/oasisprotocol/curve25519-voi v0.0.0-20230904125328-1f23a7beb09a // indirect
	github.com/petermattis/goid v0.0.0-20250813065127-a731cc31b4fe // indirect
	github.com/sasha-s/go-deadlock v0.3.9 // indirect
	golang.org/x/crypto v0.54.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

replace mldsa.example/go => ../
