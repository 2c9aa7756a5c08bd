// Package linux_amd64 holds what build-native.sh builds, so that `go mod vendor` copies it.
package linux_amd64
