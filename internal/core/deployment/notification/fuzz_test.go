package notification

import (
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzDecode compares Decode with the standard library, and what it accepts with the bounds.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(typical))
	f.Fuzz(func(t *testing.T, body []byte) {
		n, err := Decode(body)
		if err != nil {
			checkError(t, err)
			return
		}
		if !json.Valid(body) {
			t.Fatalf("accepted what is not JSON: %q", body)
		}
		checkBounds(t, n)
		again, err := Decode(encode(t, n))
		if err != nil {
			t.Fatalf("what was accepted is not, once encoded: %v", err)
		}
		n.Unknown = nil // they are named, not kept
		if diff := cmp.Diff(n, again); diff != "" {
			t.Fatalf("decoding loses something: -first +second:\n%s", diff)
		}
		checkEncode(t, n)
	})
}

// checkError makes sure that the error is a sentence that is fit for a log.
func checkError(t *testing.T, err error) {
	t.Helper()
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("got a %T: %v", err, err)
	}
	sentence := err.Error()
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(sentence) || len(sentence) > 1024 || strings.ContainsFunc(sentence, unprintable) ||
		!strings.HasSuffix(sentence, ".") {
		t.Fatalf("the error is no sentence: %q", sentence)
	}
}

func checkBounds(t *testing.T, n *Notification) {
	t.Helper()
	for _, field := range []struct {
		value string
		bound int
	}{
		{n.Branch, MaxBranchBytes}, {n.SHA, MaxSHABytes}, {n.DeploymentType, MaxTextBytes}, {n.Service, MaxServiceBytes}, {n.DeduplicationKey, MaxTextBytes},
		{n.Repository, MaxTextBytes}, {n.DeploymentURL, MaxURLBytes}, {n.CommitURL, MaxURLBytes},
		{n.CommitMessage, MaxTextBytes}, {n.CommitAuthor, MaxTextBytes},
	} {
		if !utf8.ValidString(field.value) {
			t.Fatalf("accepted %q, which is not UTF-8", field.value)
		}
		if len(field.value) > field.bound {
			t.Fatalf("accepted %q, which is longer than %d bytes", field.value, field.bound)
		}
	}
	for _, link := range []string{n.DeploymentURL, n.CommitURL} {
		if u, err := url.Parse(link); err != nil || link != "" && (u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https") {
			t.Fatalf("accepted the URL %q", link)
		}
	}
	total := 0
	for name, value := range n.Variables {
		total += len(name) + len(value)
		if len(value) > MaxVariableBytes || strings.ContainsRune(value, 0) || !utf8.ValidString(value) {
			t.Fatalf("accepted a value of %s", name)
		}
	}
	if total > maxVariablesBytes || len(n.Variables) > MaxVariables || n.PullRequestNumber < 0 || n.PullRequestNumber > MaxNumber {
		t.Fatalf("accepted more than allowed: %+v", n)
	}
	if n.EphemeralEnvironment && n.DeploymentURL == "" {
		t.Fatal("accepted an ephemeral environment without a URL")
	}
}

// encode is the body that decodes to the notification.
func encode(t *testing.T, n *Notification) []byte {
	t.Helper()
	body := map[string]any{
		"branch": n.Branch, "sha": n.SHA, "deployment_type": n.DeploymentType, "service": n.Service, "deployment_url": n.DeploymentURL,
		"hosting_service": n.HostingService, "commit_url": n.CommitURL, "commit_message": n.CommitMessage, "commit_author": n.CommitAuthor,
		"deduplication_key":     n.DeduplicationKey,
		"ephemeral_environment": n.EphemeralEnvironment, "repository": n.Repository, "variables": n.Variables,
	}
	if n.PullRequestNumber != 0 {
		body["pull_request_number"] = n.PullRequestNumber
	}
	if n.PipelineID != 0 {
		body["pipeline_id"] = n.PipelineID
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// variableName is the rule of the API type Variables, as the API server reads it.
var variableName = regexp.MustCompile(`^[-._a-zA-Z][-._a-zA-Z0-9]*$`)

// FuzzNames compares the rules for names, branches and commits with a second implementation.
func FuzzNames(f *testing.F) {
	f.Add("LD_PRELOAD")
	f.Fuzz(func(t *testing.T, name string) {
		if want := variableName.MatchString(name) && len(name) <= MaxVariableNameBytes; validName(name) != want {
			t.Errorf("validName(%q) = %t", name, !want)
		}
		if validName(name) && Reserved(name) != Reserved(strings.ToLower(name)) {
			t.Errorf("Reserved(%q) depends on the case", name)
		}
		if branch := BranchName(name); branch != name && "refs/heads/"+branch != name {
			t.Errorf("BranchName(%q) = %q", name, branch)
		}
	})
}
