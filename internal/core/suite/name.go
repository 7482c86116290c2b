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
	maxNameBytes = 52 // leaves room for what Kubernetes appends to the name of a Job, such as "-xxxxx" and an index, in 63 bytes
	hashChars    = 16 // 5 bits each: of a million runs, two share a name with a probability below 1e-12, and SameRun distinguishes them
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

// name is the same in every replica and after every crash, so the API server never creates a run twice.
func (id identity) name(triggerName string) string {
	prefix := triggerName[:min(len(triggerName), maxNameBytes-1-hashChars)]
	return strings.TrimRight(prefix, "-") + "-" + id.hash()
}

func (id identity) hash() string {
	return hash(string(id.trigger), id.environment, id.kind, id.value, strconv.Itoa(int(id.attempt)))
}

// hash prefixes parts with their lengths, so that no two lists of parts read the same.
func hash(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		h.Write([]byte(part))
	}
	return lowerBase32.EncodeToString(h.Sum(nil))[:hashChars]
}
