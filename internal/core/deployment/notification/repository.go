package notification

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

const repositoryShape = `an object {"owner": ..., "name": ...} or {"namespace": ..., "name": ...}, or a string "owner/name"`

// repository reads "owner/name", {owner, name} for GitHub, and {namespace, name} for GitLab, where the namespace may have slashes.
func (d *decoder) repository() error {
	if d.tokens.PeekKind() == jsontext.KindString {
		return d.checked(&d.n.Repository, repository)
	}
	var owner, namespace, name string
	err := d.object(repositoryShape, func(member string) error {
		switch member {
		case "owner":
			return d.checked(&owner, repositoryPart)
		case "namespace":
			return d.checked(&namespace, repositoryPart)
		case "name":
			return d.checked(&name, repositoryPart)
		default:
			return d.skip()
		}
	})
	if err != nil {
		return err
	}
	return d.joinRepository(owner, namespace, name)
}

func (d *decoder) joinRepository(owner, namespace, name string) error {
	if owner != "" && namespace != "" && owner != namespace {
		return d.invalidBelow("namespace", "differs from "+d.path()+".owner; send one of them")
	}
	owner = cmp.Or(owner, namespace)
	switch {
	case owner == "" && name == "":
		return nil
	case owner == "":
		return d.invalidBelow("owner", "is missing; send "+repositoryShape)
	case name == "" || strings.Contains(name, "/"):
		return d.invalidBelow("name", "must be the last part of the repository's full name, e.g. shop of acme/shop")
	}
	full, reason := repository(owner + "/" + name)
	if reason != "" {
		return d.invalid(reason)
	}
	d.n.Repository = full
	return nil
}

// repository checks a full name as the API type Repository does, so that a Trigger can name it.
func repository(fullName string) (string, string) {
	if reason := tooLong(fullName, MaxTextBytes); reason != "" {
		return "", reason
	}
	parts := strings.Split(fullName, "/")
	for _, part := range parts {
		if part == "" || part == "." || part == ".." || len(parts) < 2 { // names become parts of URLs
			return "", "must be the full name of a repository, e.g. acme/shop, without empty, . and .. segments"
		}
	}
	return repositoryPart(fullName)
}

func repositoryPart(part string) (string, string) {
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if strings.ContainsFunc(part, odd) {
		return "", "must not hold white space or control characters"
	}
	return part, tooLong(part, MaxTextBytes)
}

// tooLong returns why a value is too long, or "".
func tooLong(value string, limit int) string {
	if len(value) <= limit {
		return ""
	}
	return fmt.Sprintf("is %d bytes long; at most %d are accepted", len(value), limit)
}
