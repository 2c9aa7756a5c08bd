// Command patch makes a copy of the released CometBFT module with a registry of batch verifiers
// (crypto/batch) and, with the build tag mldsa_rust, the keys of package comet in crypto/mldsa65.
// Without the tag, crypto/mldsa65 stays as it is.
//
//	go run ./cmd/patch [-only-batch] DIR
//
// DIR must not exist. It writes DIR.mod too: go.mod of this module with the copy instead of the
// release, for -modfile.
package main

import (
	_ "embed"
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

const (
	module  = "github.com/cometbft/cometbft"
	version = "v0.40.0"
)

func main() {
	onlyBatch := flag.Bool("only-batch", false, "leave crypto/mldsa65 as it is")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: patch [-only-batch] DIR")
		os.Exit(2)
	}
	if err := patch(flag.Arg(0), *onlyBatch); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func patch(dir string, onlyBatch bool) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	found, err := output(here, "go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", module)
	if err != nil {
		return err
	}
	release, source, _ := strings.Cut(found, " ")
	if release != version || source == "" {
		return fmt.Errorf("%s is at %q, the patch is for %s; go mod download", module, found, version)
	}
	if err := copyTree(source, dir); err != nil {
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
	_, err = output(dir, "go", "mod", "edit",
		"-require=mldsa.example/go@v0.0.0", "-replace=mldsa.example/go="+filepath.Dir(here),
		"-require=mldsa.example/go/comet@v0.0.0", "-replace=mldsa.example/go/comet="+here)
	if err != nil {
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

func writeModFile(dir, here string) error {
	for _, name := range []string{"mod", "sum"} {
		text, err := os.ReadFile(filepath.Join(here, "go."+name))
		if err != nil {
			return err
		}
		if name == "mod" {
			text = []byte(strings.ReplaceAll(string(text), "=> ../", "=> "+filepath.Dir(here)))
			text = fmt.Appendf(text, "\nreplace %s => %s\n", module, dir)
		}
		if err := os.WriteFile(dir+"."+name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
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
