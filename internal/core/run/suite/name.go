package suite

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/text/publicurl"
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
	kind        string // "sha", "revision", "idempotency-key" or "request": a value of one kind never equals one of another
	value       string
	attempt     int32
	service     string // "": names are those of before there were services
}

// identityOf omits the Trigger, the Environment and the attempt. A whole SHA is one commit in every repository; another revision, such as a
// tag, is of its own. Without a revision, the request identifies the run.
func identityOf(c commit.Commit, request string) identity {
	switch {
	case c.Revision == "":
		return identity{kind: "request", value: request, service: c.Service}
	case c.Repository == "" || commit.IsSHA(c.Revision):
		return identity{kind: "sha", value: c.Revision, service: c.Service}
	default:
		return identity{kind: "revision", value: commit.RepositoryKey(c.Repository) + "\x00" + c.Revision, service: c.Service}
	}
}

// KnownName returns the name that the desired Suite has already, among those of its revision: earlier versions named runs without the
// repository.
func KnownName(desired *v1alpha1.Suite, existing []*v1alpha1.Suite) string {
	for _, s := range existing {
		if SameRun(s, desired) {
			return s.Name
		}
	}
	return desired.Name
}

// name is the same in every replica and after every crash, so the API server never creates a run twice.
func (id identity) name(triggerName string) string {
	prefix := triggerName[:min(len(triggerName), maxNameBytes-1-hashChars)]
	return strings.TrimRight(prefix, "-") + "-" + id.hash()
}

func (id identity) hash() string {
	parts := []string{string(id.trigger), id.environment, id.kind, id.value, strconv.Itoa(int(id.attempt))}
	if id.service != "" {
		parts = append(parts, id.service)
	}
	return Hash(parts...)
}

// Hash prefixes parts with their lengths, so that no two lists of parts read the same.
func Hash(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		h.Write([]byte(part))
	}
	return lowerBase32.EncodeToString(h.Sum(nil))[:hashChars]
}

// VariablesDigest returns the SHA-256 of variables as a JSON object, sorted by name and without spaces, as jq -cSj prints it.
func VariablesDigest(variables map[string]string) string {
	if variables == nil {
		variables = map[string]string{}
	}
	var content bytes.Buffer
	out := json.NewEncoder(&content)
	out.SetEscapeHTML(false)
	_ = out.Encode(variables) // a map of strings is always JSON
	return fmt.Sprintf("sha256:%x", sha256.Sum256(bytes.TrimSuffix(content.Bytes(), []byte("\n"))))
}

// The bounds of the schema, in bytes.
const (
	maxCommit     = 128
	maxRepository = 256
)

// CommitName names a commit as the subject of a sentence.
func CommitName(c commit.Commit) string {
	revision := cmp.Or(ShownSHA(c.Revision), "another version")
	if part := c.String(); part != "" {
		return revision + " of " + part
	}
	return revision
}

// ShownSHA shortens a commit that anyone may have written.
func ShownSHA(sha string) string { return commit.ShortSHA(plaintext.Line(sha, maxCommit)) }

// PageURL is the address of a run's page. It never changes, because it ends up in CI logs, in checks and in chat.
func PageURL(publicURL, namespace, name string) string {
	return publicurl.Join(publicURL, "/runs/"+namespace+"/"+name)
}

// VerdictURL is the address of the page of a commit in an Environment.
func VerdictURL(publicURL, namespace, environment, sha string) string {
	return publicurl.Join(publicURL, "/environments/"+namespace+"/"+environment+"/commits/"+url.PathEscape(sha))
}

// ShownRepository shortens the name of a repository that anyone may have written.
func ShownRepository(name string) string { return plaintext.Line(name, maxRepository) }

// maxPerson bounds an annotation that names a person, in bytes: it has room for the name of a service account.
const maxPerson = 256

// ShownPerson shortens a name that anyone may have written.
func ShownPerson(name string) string { return plaintext.Line(name, maxPerson) }
