package main

import (
	"crypto/mldsa"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"filippo.io/torchwood"
	fnote "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/formats/proof"
	"github.com/transparency-dev/formats/witness"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const size = 13

// A log whose entries are the numbers from 0 to 12, with 8 bytes each.
type hashes []tlog.Hash

func (h hashes) ReadHashes(indexes []int64) (read []tlog.Hash, err error) {
	for _, index := range indexes {
		read = append(read, h[index])
	}
	return read, nil
}

func entry(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func tree() (h hashes) {
	for n := range int64(size) {
		h = append(h, must(tlog.StoredHashes(n, entry(n), h))...)
	}
	return h
}

func lines[H ~[]tlog.Hash](hashes H) (text string) {
	for _, hash := range hashes {
		text += hash.String() + "\n"
	}
	return text
}

// cosignatures prints the CPU time of one verification of a note with the signatures of a log and 16 witnesses.
func cosignatures(folder string) {
	read := func(name string) []byte { return must(os.ReadFile(filepath.Join(folder, name))) }
	signed := read("note")
	policy, group := must(torchwood.ParsePolicy(read("policy"))), must(witness.ParsePolicy(read("policy")))
	median("Go, torchwood 0.10.0: note of 17 signatures", func() {
		_, _, err := torchwood.VerifyCheckpoint(signed, policy)
		check(err == nil, "policy of torchwood")
	})
	median("Go, formats 0.1.1: the 16 of witnesses", func() { check(group.Satisfied(signed), "policy of formats") })
}

func median(name string, call func()) {
	runtime.LockOSThread()
	now := func() float64 {
		var time syscall.Timespec
		const threadCPU = 3
		syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadCPU, uintptr(unsafe.Pointer(&time)), 0)
		return float64(time.Nano()) / 1e3
	}
	times := make([]float64, 301)
	for n := range times {
		start := now()
		call()
		times[n] = now() - start
	}
	slices.Sort(times)
	fmt.Printf("%-44s median %6.1f us\n", name, times[len(times)/2])
}

// notes reads what this library wrote into a folder, and writes the same with names that begin with go-.
func notes(folder string) {
	read := func(name string) []byte { return must(os.ReadFile(filepath.Join(folder, name))) }
	write := func(name string, data []byte) {
		must(0, os.WriteFile(filepath.Join(folder, "go-"+name), data, 0o644))
	}
	h := tree()
	root := must(tlog.TreeHash(size, h))
	part := must(torchwood.SubtreeHash(8, size, h))

	// Ours: note, keys, policy, subtree, proof and request.
	signed := read("note")
	changed := []byte(strings.Replace(string(signed), "\n13\n", "\n14\n", 1))
	for _, name := range []string{"log", "witness"} {
		vkey := string(read(name + ".vkey"))
		first := must(torchwood.NewCosignatureVerifier(vkey))
		second := must(fnote.NewMLDSAVerifier(vkey))
		for _, verifier := range []note.Verifier{first, second} {
			opened := must(note.Open(signed, note.VerifierList(verifier)))
			check(len(opened.Sigs) == 1, name)
			_, err := note.Open(changed, note.VerifierList(verifier))
			check(err != nil, "a changed size is accepted")
		}
	}
	policy := must(torchwood.ParsePolicy(read("policy")))
	checkpoint, _, err := torchwood.VerifyCheckpoint(signed, policy)
	check(err == nil && checkpoint.Hash == root && checkpoint.N == size, "checkpoint")
	check(must(witness.ParsePolicy(read("policy"))).Satisfied(signed), "policy of formats")
	verifier := must(torchwood.NewCosignatureVerifier(string(read("witness.vkey"))))
	check(verifier.VerifySubtree(checkpoint.Origin, 8, size, part, read("subtree")), "subtree")
	check(!verifier.VerifySubtree(checkpoint.Origin, 8, size-1, part, read("subtree")), "another subtree")
	must(0, torchwood.VerifyProof(policy, tlog.RecordHash(entry(8)), read("proof")))
	check(torchwood.VerifyProof(policy, tlog.RecordHash(entry(9)), read("proof")) != nil, "another entry")
	var parsed proof.TLogProof
	must(0, parsed.Unmarshal(read("proof")))
	check(parsed.Index == 8 && string(parsed.ExtraData) == "extra", "proof of formats")
	old := must(tlog.TreeHash(5, h))
	expected := fmt.Sprintf("old 5\n%s\n%s", lines(must(tlog.ProveTree(size, 5, h))), signed)
	check(string(read("request")) == expected, "request")
	fmt.Println("Go read our log: torchwood v0.10.0, formats v0.1.1")

	// Theirs: the log's key is torchwood's, the witness's that of formats.
	log := must(torchwood.NewCosignatureSigner("log.example/go", must(mldsa.GenerateKey(mldsa.MLDSA44()))))
	skey, vkey, err := fnote.GenerateMLDSAKey("witness.example/go")
	check(err == nil, "key")
	text := torchwood.Checkpoint{Origin: log.Name(), Tree: tlog.Tree{N: size, Hash: root}}.String()
	signed = must(note.Sign(&note.Note{Text: text}, log, must(fnote.NewMLDSASigner(skey))))
	write("note", signed)
	write("policy", fmt.Appendf(nil, "log %s\nwitness w %s\nquorum w\n", log.Verifier(), vkey))
	write("proof", torchwood.FormatProof(12, must(tlog.ProveRecord(size, 12, h)), signed))
	write("request", fmt.Appendf(nil, "old 5\n%s\n%s", lines(must(tlog.ProveTree(size, 5, h))), signed))
	write("old", []byte(old.String()))
	line := must(log.SignSubtree(log.Name(), 8, 12, must(torchwood.SubtreeHash(8, 12, h))))
	inner := must(torchwood.ProveSubtree(size, 8, 12, h))
	write("subtree", fmt.Appendf(nil, "subtree 8 12\n%s\n%s%s\n%s", must(torchwood.SubtreeHash(8, 12, h)), line, lines(inner), signed))
}
