package suite

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxNameBytes leaves a Job that is named like the Suite room for the suffixes that Kubernetes
	// adds: a pod's "-xxxxx" and, in an indexed Job, its index, within the 63 bytes of a DNS label.
	maxNameBytes = 52

	// hashChars of five bits are 80 bits: with a million runs of one Trigger, two of them share a
	// name with a probability below 1e-12, and SameRun distinguishes them even then.
	hashChars = 16
)

// lowerBase32 has only characters that a DNS label allows anywhere.
var lowerBase32 = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// identity is what makes two notifications mean the same run.
type identity struct {
	trigger     types.UID
	environment string
	kind        string // "sha", "idempotency-key" or "request": a value of one kind never equals one of another
	value       string
	attempt     int32
}

// name is a DNS label of at most 52 characters: a readable prefix cut from the Trigger's name, and a
// hash of the identity. The same identity has the same name in every replica and after every crash,
// which makes the API server the lock that keeps a run from being created twice.
func (id identity) name(triggerName string) string {
	prefix := triggerName[:min(len(triggerName), maxNameBytes-1-hashChars)]
	return strings.TrimRight(prefix, "-") + "-" + id.hash()
}

func (id identity) hash() string {
	return hash(string(id.trigger), id.environment, id.kind, id.value, strconv.Itoa(int(id.attempt)))
}

// hash is taken over length-prefixed parts, so that no two lists of parts read the same.
func hash(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		h.Write([]byte(part))
	}
	return lowerBase32.EncodeToString(h.Sum(nil))[:hashChars]
}
