package mldsa

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
	"github.com/cloudflare/circl/sign/mldsa/mldsa87"
)

// layout is the layout of a signature: challenge, coefficients of z, hint.
type layout struct {
	challenge          int
	coefficients, bits int
	omega, polynomials int
	// The bound of coefficients is 2^(bits-1) - beta.
	beta int
}

var layouts = map[Set]layout{
	MLDSA44: {32, 4 * 256, 18, 80, 4, 78},
	MLDSA65: {48, 5 * 256, 20, 55, 6, 196},
	MLDSA87: {64, 7 * 256, 20, 75, 8, 120},
}

// sample is an input of verification.
type sample struct {
	key                         int
	public                      []byte
	message, context, signature []byte
}

func (s sample) clone() sample {
	s.public, s.message = bytes.Clone(s.public), bytes.Clone(s.message)
	s.context, s.signature = bytes.Clone(s.context), bytes.Clone(s.signature)
	return s
}

// putBits replaces bits of data, little endian.
func putBits(data []byte, at, bits, value int) {
	for i := range bits {
		mask := byte(1) << ((at + i) % 8)
		data[(at+i)/8] &^= mask
		if value>>i&1 == 1 {
			data[(at+i)/8] |= mask
		}
	}
}

// mutation changes a valid sample; other is another valid one of the same set.
type mutation struct {
	name   string
	change func(r *rand.Rand, l layout, s *sample, other sample)
}

func (l layout) zLen() int { return l.coefficients * l.bits / 8 }

func (l layout) hint(s *sample) (positions, counts []byte) {
	hint := s.signature[l.challenge+l.zLen():]
	return hint[:l.omega], hint[l.omega:]
}

// flip changes one bit.
func flip(r *rand.Rand, data []byte) {
	if len(data) > 0 {
		data[r.IntN(len(data))] ^= 1 << r.IntN(8)
	}
}

var mutations = []mutation{
	{"unchanged", func(*rand.Rand, layout, *sample, sample) {}},
	{"challenge: bit", func(r *rand.Rand, l layout, s *sample, _ sample) { flip(r, s.signature[:l.challenge]) }},
	{"challenge: of another", func(_ *rand.Rand, l layout, s *sample, o sample) {
		copy(s.signature, o.signature[:l.challenge])
	}},
	{"z: bit", func(r *rand.Rand, l layout, s *sample, _ sample) {
		flip(r, s.signature[l.challenge:][:l.zLen()])
	}},
	{"z: at the bound", func(r *rand.Rand, l layout, s *sample, _ sample) {
		gamma := 1 << (l.bits - 1)
		bound := gamma - l.beta
		values := []int{bound - 1, bound, bound + 1, 1 - bound, -bound, -bound - 1, gamma, 1 - gamma, 0}
		value := gamma - values[r.IntN(len(values))]
		putBits(s.signature[l.challenge:], r.IntN(l.coefficients)*l.bits, l.bits, value)
	}},
	{"z: of another", func(_ *rand.Rand, l layout, s *sample, o sample) {
		copy(s.signature[l.challenge:][:l.zLen()], o.signature[l.challenge:])
	}},
	{"hint: position", func(r *rand.Rand, l layout, s *sample, _ sample) {
		positions, counts := l.hint(s)
		positions[r.IntN(1+int(counts[len(counts)-1])%l.omega)] = byte(r.Uint32())
	}},
	{"hint: order", func(r *rand.Rand, l layout, s *sample, _ sample) {
		positions, counts := l.hint(s)
		if last := int(counts[len(counts)-1]); last > 1 {
			i := r.IntN(last - 1)
			positions[i], positions[i+1] = positions[i+1], positions[i]
		}
	}},
	{"hint: twice", func(r *rand.Rand, l layout, s *sample, _ sample) {
		positions, _ := l.hint(s)
		i := r.IntN(l.omega - 1)
		positions[i+1] = positions[i]
	}},
	{"hint: padding", func(r *rand.Rand, l layout, s *sample, _ sample) {
		positions, counts := l.hint(s)
		if last := int(counts[len(counts)-1]); last < l.omega {
			positions[last+r.IntN(l.omega-last)] = 1 + byte(r.IntN(255))
		}
	}},
	{"hint: count", func(r *rand.Rand, l layout, s *sample, _ sample) {
		_, counts := l.hint(s)
		i := r.IntN(len(counts))
		counts[i] = []byte{counts[i] + 1, counts[i] - 1, byte(l.omega), byte(l.omega) + 1, 255, 0}[r.IntN(6)]
	}},
	{"hint: one less", func(_ *rand.Rand, l layout, s *sample, _ sample) {
		positions, counts := l.hint(s)
		last := counts[len(counts)-1]
		if last == 0 {
			return
		}
		positions[last-1] = 0
		for i, count := range counts {
			counts[i] = min(count, last-1)
		}
	}},
	{"hint: one more", func(r *rand.Rand, l layout, s *sample, _ sample) {
		positions, counts := l.hint(s)
		if last := int(counts[len(counts)-1]); last < l.omega {
			positions[last] = 255 - byte(r.IntN(3))
			counts[len(counts)-1]++
		}
	}},
	{"hint: of another", func(_ *rand.Rand, l layout, s *sample, o sample) {
		copy(s.signature[l.challenge+l.zLen():], o.signature[l.challenge+l.zLen():])
	}},
	{"signature: length", func(r *rand.Rand, _ layout, s *sample, _ sample) {
		size := []int{0, 1, len(s.signature) - 1, len(s.signature) + 1, 2 * len(s.signature), r.IntN(6000)}[r.IntN(6)]
		s.signature = append(s.signature, s.signature...)
		s.signature = append(s.signature, make([]byte, 6000)...)[:size]
	}},
	{"signature: of another", func(_ *rand.Rand, _ layout, s *sample, o sample) { s.signature = o.signature }},
	{"signature: random", func(r *rand.Rand, _ layout, s *sample, _ sample) {
		for i := range s.signature {
			s.signature[i] = byte(r.Uint32())
		}
	}},
	{"signature: one value", func(r *rand.Rand, _ layout, s *sample, _ sample) {
		copy(s.signature, bytes.Repeat([]byte{byte(r.IntN(2) * 255)}, len(s.signature)))
	}},
	{"context", func(r *rand.Rand, _ layout, s *sample, o sample) {
		switch r.IntN(6) {
		case 0:
			flip(r, s.context)
		case 1:
			s.context = append(s.context, 0)
		case 2:
			s.context = nil
		case 3:
			s.context = o.context
		case 4: // Of 255 and 256 bytes.
			s.context = append(s.context, make([]byte, 256)...)[:255+r.IntN(2)]
		case 5: // The boundary between context and message.
			s.context, s.message = append(s.context, s.message[0]), s.message[1:]
		}
	}},
	{"message", func(r *rand.Rand, _ layout, s *sample, o sample) {
		switch r.IntN(5) {
		case 0:
			flip(r, s.message)
		case 1:
			s.message = append(s.message, 0)
		case 2:
			s.message = s.message[:len(s.message)-1]
		case 3:
			s.message = nil
		case 4:
			s.message = o.message
		}
	}},
	{"key: rho", func(r *rand.Rand, _ layout, s *sample, _ sample) { flip(r, s.public[:32]) }},
	{"key: t1", func(r *rand.Rand, _ layout, s *sample, _ sample) { flip(r, s.public[32:]) }},
	{"key: of another", func(_ *rand.Rand, _ layout, s *sample, o sample) { s.public = o.public }},
}

// circlVerifier is a parsed key of CIRCL.
func circlVerifier(set Set, encoded []byte) func(message, context, signature []byte) bool {
	switch set {
	case MLDSA44:
		var key mldsa44.PublicKey
		if key.UnmarshalBinary(encoded) == nil {
			return func(m, c, s []byte) bool { return mldsa44.Verify(&key, m, c, s) }
		}
	case MLDSA65:
		var key mldsa65.PublicKey
		if key.UnmarshalBinary(encoded) == nil {
			return func(m, c, s []byte) bool { return mldsa65.Verify(&key, m, c, s) }
		}
	case MLDSA87:
		var key mldsa87.PublicKey
		if key.UnmarshalBinary(encoded) == nil {
			return func(m, c, s []byte) bool { return mldsa87.Verify(&key, m, c, s) }
		}
	}
	return func(_, _, _ []byte) bool { return false }
}

// circlVerify is the verdict of CIRCL, whatever the implementation in use is.
func circlVerify(set Set, encoded, message, context, signature []byte) bool {
	return circlVerifier(set, encoded)(message, context, signature)
}

// comparison compares verdicts of one set.
type comparison struct {
	set     Set
	samples []sample
	ours    []*PublicKey
	circl   []func(message, context, signature []byte) bool
	batches map[string]*Batch
	wanted  map[string][]bool
	// Inputs and valid inputs of each mutation.
	counts [][2]int
}

func newComparison(t testing.TB, set Set) *comparison {
	c := &comparison{
		set: set, batches: map[string]*Batch{}, wanted: map[string][]bool{}, counts: make([][2]int, len(mutations)),
	}
	contexts := [][]byte{nil, []byte("context"), bytes.Repeat([]byte{7}, 255)}
	for n := range 24 {
		private := seeded(t, set, n)
		public := private.PublicKey()
		if n%2 == 0 {
			public.Prepare()
		}
		c.ours = append(c.ours, public)
		c.circl = append(c.circl, circlVerifier(set, public.Bytes()))
		for m := range 8 {
			message, context := bytes.Repeat([]byte{byte(n), byte(m)}, 1+m*m*9), contexts[(n+m)%3]
			c.samples = append(c.samples, sample{n, public.Bytes(), message, context, signed(t, private, message, context)})
		}
	}
	return c
}

// input compares the verdicts of one input.
func (c *comparison) input(t *testing.T, r *rand.Rand, n int) {
	which := n % len(mutations)
	original := c.samples[r.IntN(len(c.samples))]
	s := original.clone()
	mutations[which].change(r, layouts[c.set], &s, c.samples[r.IntN(len(c.samples))].clone())
	public, circl := c.ours[s.key], c.circl[s.key]
	if !bytes.Equal(s.public, original.public) {
		var err error
		if public, err = ParsePublicKey(c.set, s.public); err != nil {
			t.Fatal(err)
		}
		circl = circlVerifier(c.set, s.public)
	}
	want := circl(s.message, s.context, s.signature)
	if public.Verify(s.message, s.context, s.signature) != want {
		t.Fatalf("%v input %d, %s: not %v", c.set, n, mutations[which].name, want)
	}
	c.counts[which][0]++
	if want {
		c.counts[which][1]++
	}
	// Contexts of no valid signature would make more pools than a process has.
	if !bytes.Equal(s.context, original.context) || len(s.signature) != c.set.SignatureSize() {
		return
	}
	id := string(s.context)
	if c.batches[id] == nil {
		c.batches[id], _ = NewBatch(c.set, s.context)
	}
	if err := c.batches[id].Add(public, s.message, s.signature); err != nil {
		t.Fatal(err)
	}
	c.wanted[id] = append(c.wanted[id], want)
	if len(c.wanted[id]) == 100 {
		c.verify(t, id)
	}
}

// verify compares the verdicts of a batch.
func (c *comparison) verify(t *testing.T, id string) {
	if _, verdicts := c.batches[id].Verify(); !slices.Equal(verdicts, c.wanted[id]) {
		t.Fatal(c.set, "batch", verdicts, c.wanted[id])
	}
	c.batches[id].Reset()
	c.wanted[id] = nil
}

// MLDSA_INPUTS is the number of inputs, a third of it for each set.
func TestVerdictsEqualThoseOfCIRCL(t *testing.T) {
	inputs := 6000
	if named := os.Getenv("MLDSA_INPUTS"); named != "" {
		if _, err := fmt.Sscan(named, &inputs); err != nil {
			t.Fatal(err)
		}
	}
	total := make([][2]int, len(mutations))
	for _, set := range allSets {
		c := newComparison(t, set)
		r := rand.New(rand.NewPCG(uint64(set), 1))
		for n := range (inputs + 2) / 3 {
			c.input(t, r, n)
		}
		for id := range c.batches {
			c.verify(t, id)
		}
		for i, count := range c.counts {
			total[i][0] += count[0]
			total[i][1] += count[1]
		}
	}
	sum := [2]int{}
	for i, count := range total {
		t.Logf("%-24s %8d inputs, %7d valid", mutations[i].name, count[0], count[1])
		sum[0] += count[0]
		sum[1] += count[1]
	}
	t.Logf("%-24s %8d inputs, %7d valid: all verdicts equal those of CIRCL", "all", sum[0], sum[1])
	if total[0][1] != total[0][0] || sum[1] == sum[0] {
		t.Fatal("valid inputs", sum)
	}
}
