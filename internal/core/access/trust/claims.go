package trust

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/postflight-dev/postflight/internal/core/access/jwt"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
)

// Claims are the claims of a token, as it was signed.
type Claims struct {
	object jwt.Object
	text   map[string]string // as expressions see them: strings, and everything else as compact JSON. Null says the same as a missing claim.
}

// ParseClaims reads the payload of a token. Members with the same name are an error, at any depth: readers differ in which one they take.
func ParseClaims(payload []byte) (*Claims, error) {
	object, err := jwt.ReadObject(payload)
	if err != nil {
		return nil, err
	}
	c := &Claims{object: object, text: map[string]string{}}
	for name, value := range object.All() {
		if err := c.add(name, value); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Claims) add(name string, value jsontext.Value) error {
	switch {
	case len(name) > match.MaxClaimNameBytes || len(value) > match.MaxClaimBytes:
		return errors.New("a claim is too long")
	case value.Kind() == 'n':
		return nil
	case len(c.text) >= match.MaxClaims:
		return fmt.Errorf("more than %d claims", match.MaxClaims)
	case value.Kind() == '"':
		c.text[name], _ = c.object.Text(name)
		return nil
	}
	value = value.Clone()
	if err := value.Compact(); err != nil {
		return err
	}
	c.text[name] = string(value)
	return nil
}

// String returns a claim that is a string, or "".
func (c *Claims) String(name string) string {
	text, _ := c.object.Text(name)
	return text
}

// scalar returns the text of a string, number or boolean.
func (c *Claims) scalar(name string) (string, bool) {
	switch c.object.Kind(name) {
	case '"', '0', 't', 'f':
		return c.text[name], true
	}
	return "", false
}

func (c *Claims) has(name string) bool { return c.object.Kind(name) != 0 }

// audiences returns the values of the claim aud, which is a string or a list of strings. For anything else, there are none.
func (c *Claims) audiences() []string {
	audiences, _ := c.object.Audiences()
	return audiences
}

// Expires is the time of the claim exp.
func (c *Claims) Expires() time.Time {
	t, _ := c.object.Time("exp")
	return t
}

// names returns the names of all claims, sorted.
func (c *Claims) names() []string { return slices.Sorted(maps.Keys(c.text)) }

// idsBeside are the claims that GitHub and GitLab, on whatever host, set beside the name of a repository or its owner. Another issuer may
// have claims with these names whose case matters.
var idsBeside = map[string][]string{
	"repository": {"repository_id", "repository_owner_id"}, "repository_owner": {"repository_id", "repository_owner_id"},
	"project_path": {"project_id", "namespace_id"}, "namespace_path": {"project_id", "namespace_id"},
}

// canonical returns a value as a code host compares it: it has no two repositories or owners that differ only in case.
func canonical(name, value string) string {
	if idsBeside[name] == nil {
		return value
	}
	return commit.RepositoryKey(value)
}

// isOfCodeHost reports whether a claim is the name of a repository or its owner, with the IDs beside it that GitHub and GitLab set.
func (c *Claims) isOfCodeHost(name string) bool {
	ids := idsBeside[name]
	return ids != nil && !slices.ContainsFunc(ids, func(id string) bool { return !c.has(id) })
}

// isOneOf reports whether a claim has one of the values. All but the names of code hosts are compared exactly.
func (c *Claims) isOneOf(name string, values []string) bool {
	value, isScalar := c.scalar(name)
	ofCodeHost := c.isOfCodeHost(name)
	return isScalar && slices.ContainsFunc(values, func(wanted string) bool {
		return wanted == value || ofCodeHost && canonical(name, wanted) == canonical(name, value)
	})
}
