// The path is a placeholder until the repository has an address (RELEASING.md).
module mldsa.example/go

go 1.26

require (
	github.com/cloudflare/circl v1.6.5
	github.com/ebitengine/purego v0.11.3
)

require golang.org/x/sys v0.47.0
