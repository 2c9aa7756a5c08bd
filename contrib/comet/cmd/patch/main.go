// Command patch makes a copy of the released CometBFT module with a registry of batch verifiers
// (crypto/batch) and, with the build tag mldsa_rust, the keys of package comet in crypto/mldsa65.
// Without the tag, crypto/mldsa65 stays as it is.
//
//	go run ./cmd/patch [-only-batch] [-sdk SDK] DIR
//
// DIR must not exist, unless there is a SDK. It writes DIR.mod too: go.mod of this module with the copy instead of the
// release, for -modfile.
//
// SDK gets a copy of the released Cosmos SDK that uses the patched CometBFT. Its crypto/keys/mldsa65
// verifies and signs with CometBFT's keys, so that its source stays as it is; a benchmark is added.
package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed files/batch.go.txt
var registry []byte

//go:embed files/mldsa65.go.txt
var keys []byte

//go:embed files/sdk_bench_test.go.txt
var benchmark []byte

const (
	module  = "github.com/cometbft/cometbft"
	version = "v0.40.0"
	sdk     = "github.com/cosmos/cosmos-sdk@v0.55.0"
)

func main() {
	onlyBatch := flag.Bool("only-batch", false, "leave crypto/mldsa65 as it is")
	sdkDir := flag.String("sdk", "", "folder of a copy of the Cosmos SDK")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: patch [-only-batch] [-sdk SDK] DIR")
		os.Exit(2)
	}
	var err error
	if _, missing := os.Stat(flag.Arg(0)); missing != nil || *sdkDir == "" {
		err = patch(flag.Arg(0), *onlyBatch)
	}
	if err == nil && *sdkDir != "" {
		err = patchSDK(*sdkDir, flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func patch(dir string, onlyBatch bool) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	here, err := thisModule()
	if err != nil {
		return err
	}
	if err := copyRelease(here, module+"@"+version, dir); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "crypto/batch/batch.go"), registry, 0o644); err != nil {
		return err
	}
	if !onlyBatch {
		if err := patchKeys(dir, here); err != nil {
			return err
		}
	}
	return writeModFile(dir, here)
}

func patchKeys(dir, here string) error {
	original := filepath.Join(dir, "crypto/mldsa65/key.go")
	text, err := os.ReadFile(original)
	if err != nil {
		return err
	}
	text = append([]byte("//go:build !mldsa_rust\n\n"), text...)
	if err := os.WriteFile(original, text, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "crypto/mldsa65/rust.go"), keys, 0o644); err != nil {
		return err
	}
	return useOurs(dir, here)
}

// library is the folder of the Go module beside this one.
func library(here string) string {
	return filepath.Join(here, "../../go")
}

// useOurs adds the modules of this repository, with further edits of go.mod, to a module.
func useOurs(dir, here string, edits ...string) error {
	arguments := append([]string{"mod", "edit",
		"-require=mldsa.example/go@v0.0.0", "-replace=mldsa.example/go=" + library(here),
		"-require=mldsa.example/go/comet@v0.0.0", "-replace=mldsa.example/go/comet=" + here}, edits...)
	if _, err := output(dir, "go", arguments...); err != nil {
		return err
	}
	// The sums of our dependencies.
	sums, err := os.ReadFile(filepath.Join(here, "go.sum"))
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, "go.sum"), os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Write(sums)
	return err
}

// patchSDK makes a copy of the Cosmos SDK that uses a patched CometBFT.
func patchSDK(dir, comet string) error {
	dir, errDir := filepath.Abs(dir)
	comet, errComet := filepath.Abs(comet)
	here, errHere := thisModule()
	if err := errors.Join(errDir, errComet, errHere); err != nil {
		return err
	}
	if err := copyRelease(here, sdk, dir); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "crypto/keys/mldsa65/cold_bench_test.go"), benchmark, 0o644); err != nil {
		return err
	}
	return useOurs(dir, here, "-replace="+module+"="+comet)
}

func writeModFile(dir, here string) error {
	for _, name := range []string{"mod", "sum"} {
		text, err := os.ReadFile(filepath.Join(here, "go."+name))
		if err != nil {
			return err
		}
		if name == "mod" {
			text = []byte(strings.ReplaceAll(string(text), "=> ../../go", "=> "+library(here)))
			text = fmt.Appendf(text, "\nreplace %s => %s\n", module, dir)
		}
		if err := os.WriteFile(dir+"."+name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// thisModule is the current folder, which has to be that of this module: its files go into the copies.
func thisModule() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	name, err := output(here, "go", "list", "-m")
	if err == nil && name != "mldsa.example/go/comet" {
		err = fmt.Errorf("%s is the folder of %s: run this command in contrib/comet", here, name)
	}
	return here, err
}

// copyRelease downloads a module, if it is not in the cache, and copies it.
func copyRelease(here, release, to string) error {
	text, err := output(here, "go", "mod", "download", "-json", release)
	if err != nil {
		return err
	}
	var found struct{ Dir string }
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return err
	}
	return copyTree(found.Dir, to)
}

// copyTree copies a module of the read-only cache into a new, writable folder.
func copyTree(from, to string) error {
	if _, err := os.Stat(to); err == nil {
		return fmt.Errorf("%s exists", to)
	}
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o644)
	})
}

func output(dir, name string, arguments ...string) (string, error) {
	command := exec.Command(name, arguments...)
	command.Dir, command.Stderr = dir, os.Stderr
	text, err := command.Output()
	return strings.TrimSpace(string(text)), err
}
