package results

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/tests/junit"
)

// NameSet holds 48 bits of the hash of each test's name, in base64: of two sets of 400, one name is taken for another once in a billion
// runs.
type NameSet string

const (
	hashBytes = 6
	nameBytes = hashBytes * 8 / 6 // in base64

	digestBytes = 16 // of a digest of names, in base64
)

func newNameSet(names []nameHash) NameSet {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(name.encode())
	}
	return NameSet(b.String())
}

func (h nameHash) encode() string {
	var bits [hashBytes]byte
	for i := range bits {
		bits[i] = byte(h >> (8 * i))
	}
	return base64.RawURLEncoding.EncodeToString(bits[:])
}

func (s NameSet) names() []string {
	var all []string
	for name := range slices.Chunk([]byte(s), nameBytes) {
		all = append(all, string(name))
	}
	return all
}

func (s NameSet) set() map[string]bool {
	set := map[string]bool{}
	for _, name := range s.names() {
		set[name] = true
	}
	return set
}

// known returns the set, or "" unless it has exactly count names.
func (s NameSet) known(count int32) NameSet {
	if len(s) != int(count)*nameBytes || count > maxSet {
		return ""
	}
	return s
}

func (t *Tests) sets() (passedTests, failedTests NameSet) {
	var passes, failures []nameHash
	for name, outcome := range t.outcomes {
		switch {
		case outcome == failed && t.Counts.Failed <= maxSet:
			failures = append(failures, name)
		case (outcome == passed || outcome == flaky) && t.Counts.Passed <= maxSet:
			passes = append(passes, name)
		}
	}
	slices.Sort(passes)
	slices.Sort(failures)
	return newNameSet(passes), newNameSet(failures)
}

// namesDigest is equal for pods that ran the same tests, however many: a set has no room for thousands of names. It is "" if none ran.
func (t *Tests) namesDigest() string {
	ran := make([]nameHash, 0, len(t.outcomes))
	for name, outcome := range t.outcomes {
		if outcome != skipped {
			ran = append(ran, name)
		}
	}
	if len(ran) == 0 {
		return ""
	}
	slices.Sort(ran)
	digest := sha256.New()
	var name [8]byte
	for _, hash := range ran {
		binary.LittleEndian.PutUint64(name[:], uint64(hash))
		_, _ = digest.Write(name[:]) // a hash takes everything
	}
	return base64.RawURLEncoding.EncodeToString(digest.Sum(nil))[:digestBytes]
}

// Summary returns the summary of the tests, without files.
func (t *Tests) Summary() Summary {
	s := Summary{Counts: t.Counts, Failures: Brief(t.Failures), FlakyTests: t.Flaky}
	s.Matched = slices.Clone(t.matched)
	s.PassedTests, s.FailedTests = t.sets()
	s.NamesDigest = t.namesDigest()
	if _, nameless := t.outcomes[hashOf(junit.Unnamed)]; nameless { // it may be another test than in an earlier pod
		s.PassedTests, s.NamesDigest = "", ""
	}
	s.RerunPassed = t.passedOf(t.Rerun)
	return s
}
