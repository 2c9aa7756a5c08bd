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
	return goToolIn("", environment, arguments...)
}

func goToolIn(folder string, environment []string, arguments ...string) (string, error) {
	// The tool takes the result of a test from its cache unless a file that the test named has changed.
	sources, _ := filepath.Glob("*.go")
	for _, source := range sources {
		os.Stat(source)
	}
	command := exec.Command("go", arguments...)
	command.Dir, command.Env = folder, append(os.Environ(), environment...)
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
	platform := filepath.Join("native", runtime.GOOS+"_"+runtime.GOARCH)
	for _, place := range []string{".", "lib", platform, filepath.Join("mldsa.example/go", platform)} {
		for _, name := range []string{"libmldsa_c.so", "libmldsa_c.so.2"} {
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

// The tag mldsa_purego gives a reason on systems without a loader.
func TestTheTagForPuregoNeedsALoader(t *testing.T) {
	output, err := goTool([]string{"CGO_ENABLED=0", "GOOS=windows", "GOARCH=amd64"}, "build", "-tags", "mldsa_purego", ".")
	if err == nil || !strings.Contains(output, "the_tag_mldsa_purego_needs_dlopen_of_Linux_macOS_FreeBSD_or_NetBSD") {
		t.Fatalf("%v: %s", err, output)
	}
}

// `go mod vendor` copies what the tag mldsa_cgo needs: header and archive, here empty files.
func TestVendoredModulesHaveTheLibrary(t *testing.T) {
	folder := t.TempDir()
	module, program := filepath.Join(folder, "module"), filepath.Join(folder, "program")
	if err := os.CopyFS(module, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	requirements, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, required, _ := strings.Cut(string(requirements), "mldsa.example/go\n")
	platforms := []string{"linux_amd64", "linux_arm64"}
	files := map[string]string{
		"program/main.go": "package main\n\nimport _ \"mldsa.example/go\"\n\nfunc main() {}\n",
		"program/go.mod":  "module program\n" + required + "require mldsa.example/go v0.0.0\n\nreplace mldsa.example/go => ../module\n",
		"program/go.sum":  string(sums),
	}
	for _, platform := range platforms {
		files["module/native/"+platform+"/mldsa.h"], files["module/native/"+platform+"/libmldsa_c.a"] = "", ""
	}
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if output, err := goToolIn(program, []string{"GOFLAGS=-mod=mod", "GOPROXY=off"}, "mod", "vendor"); err != nil {
		t.Fatal(output)
	}
	for _, platform := range platforms {
		for _, name := range []string{"mldsa.h", "libmldsa_c.a"} {
			if _, err := os.Stat(filepath.Join(program, "vendor", "mldsa.example", "go", "native", platform, name)); err != nil {
				t.Error(err)
			}
		}
	}
}
