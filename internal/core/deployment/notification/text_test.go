package notification

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// texts are the members that are strings, or have them: whether only people read them, and otherwise the path that an error names.
var texts = map[string]struct {
	shown bool
	field string
	text  func(string) string // the member's value, with a text in it
}{
	"branch":            {field: "branch"},
	"sha":               {field: "sha"},
	"deployment_type":   {field: "deployment_type"},
	"service":           {field: "service"},
	"deployment_url":    {field: "deployment_url", text: func(s string) string { return "https://example.com/" + s }},
	"hosting_service":   {field: "hosting_service"},
	"commit_url":        {field: "commit_url", text: func(s string) string { return "https://example.com/" + s }},
	"commit_message":    {shown: true},
	"commit_author":     {shown: true},
	"deduplication_key": {field: "deduplication_key"},
	"repository":        {field: "repository", text: func(s string) string { return "acme/" + s }},
}

// noTexts are the other members: variables have a test of their own below.
var noTexts = []string{"variables", "ephemeral_environment", "pull_request_number", "merge_request_number", "pipeline_id"}

// broken are texts that are no characters, as JSON writes them.
var broken = map[string]string{
	"half an emoji at the end":  `Fix \ud83d`,
	"half an emoji within":      `Fix \ud83d login`,
	"the other half":            `Fix \ude00 login`,
	"halves in the wrong order": `Fix \ude00\ud83d`,
	"a byte of Latin-1":         "Fix f\xfcr",
	"half a sequence":           "Fix \xf0\x9f",
	"an overlong form":          "Fix \xc0\xaf",
}

// TestBrokenText: a text that only people read is repaired; what is compared, or what tests receive, is refused.
func TestBrokenText(t *testing.T) {
	for name, want := range texts {
		for reason, text := range broken {
			t.Run(name+", "+reason, func(t *testing.T) {
				if want.text != nil {
					text = want.text(text)
				}
				n, err := Decode([]byte(`{"` + name + `":"` + text + `"}`))
				if !want.shown {
					wantNoText(t, err, want.field)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				got := n.CommitMessage + n.CommitAuthor
				if !utf8.ValidString(got) || !strings.HasPrefix(got, "Fix ") || !strings.Contains(got, "\uFFFD") {
					t.Errorf("%q", got)
				}
			})
		}
	}
}

func wantNoText(t *testing.T, err error, field string) {
	t.Helper()
	invalid, ok := errors.AsType[*InvalidError](err)
	if !ok || invalid.Field != field || !strings.Contains(err.Error(), "UTF-8") || strings.Contains(err.Error(), "Fix") {
		t.Errorf("%v, want an error about %s", err, field)
	}
}

// TestBrokenTextElsewhere: parts of members, names, and what is skipped.
func TestBrokenTextElsewhere(t *testing.T) {
	for reason, tc := range map[string]struct{ body, field string }{
		"the owner of a repository":           {`{"repository":{"owner":"a\ud83d","name":"b"}}`, "repository.owner"},
		"the value of a variable":             {`{"variables":{"TITLE":"Fix \ud83d"}}`, "variables.TITLE"},
		"a variable's own replacement sign":   {`{"variables":{"TITLE":"Fix \ufffd"}}`, ""},
		"a branch's own replacement sign":     {"{\"branch\":\"fix-\uFFFD\"}", ""},
		"an unknown member":                   {`{"title":"Fix \ud83d"}`, ""},
		"deep in an unknown member":           {"{\"event\":{\"commits\":[{\"message\":\"f\xfcr\"}]}}", ""},
		"an unknown member of the repository": {`{"repository":{"owner":"a","name":"b","description":"\ud83d"}}`, ""},
	} {
		t.Run(reason, func(t *testing.T) {
			n, err := Decode([]byte(tc.body))
			switch {
			case tc.field != "":
				wantNoText(t, err, tc.field)
			case err != nil:
				t.Error(err)
			case n.Branch == "" && n.Repository == "" && len(n.Variables)+len(n.Unknown) == 0:
				t.Errorf("nothing was read: %+v", n)
			}
		})
	}
}

// TestTextsAreAll: each new member needs the decision whether only people read it.
func TestTextsAreAll(t *testing.T) {
	for _, name := range members {
		if _, isText := texts[name]; isText == slices.Contains(noTexts, name) {
			t.Errorf("%s is not in exactly one of the lists", name)
		}
		if Shown(name) != texts[name].shown {
			t.Errorf("Shown(%s) = %t", name, Shown(name))
		}
	}
}
