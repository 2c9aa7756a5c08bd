//go:build linux && !mldsa_cgo && !mldsa_purego

package mldsa

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// mark is what the planted library prints when it is loaded.
const mark = "CODE OF THE PLANTED LIBRARY"

// goTool runs the go command in this folder.
func goTool(environment []string, arguments ...string) (string, error) {
	// The tool takes the result of a test from its cache unless a file that the test named has changed.
	sources, _ := filepath.Glob("*.go")
	for _, source := range sources {
		os.Stat(source)
	}
	command := exec.Command("go", arguments...)
	command.Env = append(os.Environ(), environment...)
	output, err := command.CombinedOutput()
	return string(output), err
}

// planted makes a library that prints the mark, under every name that a search could try from the
// folder in which a program runs.
func planted(t *testing.T) (folder, library string) {
	folder = t.TempDir()
	source := filepath.Join(folder, "planted.c")
	code := "#include <stdio.h>\n__attribute__((constructor)) void f(void) { puts(\"" + mark + "\"); fflush(stdout); }\n"
	if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	library = filepath.Join(folder, "libmldsa_c.so")
	if output, err := exec.Command("cc", "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		t.Skipf("not run: no C compiler: %s", output)
	}
	bytes, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}
	platform := filepath.Join("native", runtime.GOOS+"_"+runtime.GOARCH, "lib")
	for _, place := range []string{".", "lib", platform, filepath.Join("mldsa.example/go", platform)} {
		for _, name := range []string{"libmldsa_c.so", "libmldsa_c.so.1"} {
			path := filepath.Join(folder, place, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, bytes, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	return folder, library
}

// With the tag mldsa_purego a program loads the library that MLDSA_LIBRARY names by an absolute path,
// or the one of the system, and never one from the folder in which it runs.
func TestNoLibraryOfTheCurrentDirectoryIsLoaded(t *testing.T) {
	folder, library := planted(t)
	program := filepath.Join(t.TempDir(), "program")
	build := []string{"test", "-c", "-trimpath", "-tags", "mldsa_purego", "-o", program, "."}
	if output, err := goTool([]string{"CGO_ENABLED=0"}, build...); err != nil {
		t.Fatal(output)
	}
	run := func(named string) string {
		command := exec.Command(program, "-test.run", "^$")
		command.Dir = folder
		command.Env = []string{"PATH=" + os.Getenv("PATH"), "MLDSA_LIBRARY=" + named}
		output, _ := command.CombinedOutput()
		return string(output)
	}
	if output := run(library); !strings.Contains(output, mark) {
		t.Fatalf("the planted library cannot be seen: %s", output)
	}
	names := []string{"", "libmldsa_c.so", "./libmldsa_c.so", "lib/libmldsa_c.so", "../" + filepath.Base(folder) + "/libmldsa_c.so"}
	for _, named := range names {
		if output := run(named); strings.Contains(output, mark) {
			t.Errorf("MLDSA_LIBRARY=%q: the planted library was loaded", named)
		} else if named != "" && !strings.Contains(output, "not an absolute path") {
			t.Errorf("MLDSA_LIBRARY=%q: %s", named, output)
		}
	}
}

// The tag mldsa_cgo never gives another implementation.
func TestTheTagForCgoNeedsCgo(t *testing.T) {
	for _, tags := range []string{"", "mldsa_purego"} {
		if output, err := goTool([]string{"CGO_ENABLED=0"}, "build", "-tags", tags, "."); err != nil {
			t.Fatalf("tags %q: %s", tags, output)
		}
	}
	output, err := goTool([]string{"CGO_ENABLED=0"}, "build", "-tags", "mldsa_cgo", ".")
	if err == nil || !strings.Contains(output, "the_tag_mldsa_cgo_needs_CGO_ENABLED_1_and_a_C_compiler") {
		t.Fatalf("%v: %s", err, output)
	}
}
