package attestation_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record/attestation"
)

// verdict is of the run with a name, that was created some minutes after tuesday.
func verdict(name string, minute int, result string, changes ...func(*attestation.Details)) attestation.Statement {
	s := attestation.New("acme", suite(v1alpha1.Passed(""), withImages(digest, digest)), "", nil)
	d := s.Details()
	d.Run, d.CreatedAt, d.EndedAt = name, tuesday.Add(time.Duration(minute)*time.Minute), tuesday.Add(time.Duration(minute+5)*time.Minute)
	s.Predicate.Result = result
	for _, change := range changes {
		change(d)
	}
	return s
}

func TestAccept(t *testing.T) {
	of := func(trigger, environment string) func(*attestation.Details) {
		return func(d *attestation.Details) { d.Trigger, d.Environment = trigger, environment }
	}
	attempt := func(n int32) func(*attestation.Details) { return func(d *attestation.Details) { d.Attempt = n } }
	green, red := verdict("green", 0, "PASSED"), verdict("red", 60, "FAILED")
	theirs := verdict("theirs", 90, "PASSED", func(d *attestation.Details) { d.Team, d.Namespace = "mallory", "mallory" })
	visual := verdict("visual", 1, "PASSED", of("visual", "staging"))
	for name, tc := range map[string]struct {
		reason string
		want   attestation.Wanted
		all    []attestation.Statement
		runs   string // accepted
		why    string // a part of why they are refused
	}{
		"a green":           {"", attestation.Wanted{}, []attestation.Statement{green}, "green", ""},
		"an image":          {"", attestation.Wanted{Algorithm: "sha256", Digest: digest}, []attestation.Statement{green}, "green", ""},
		"nothing":           {"", attestation.Wanted{}, nil, "", "there is no verdict"},
		"a red":             {"", attestation.Wanted{}, []attestation.Statement{red}, "", "FAILED"},
		"a withdrawn green": {"the newer run decides", attestation.Wanted{}, []attestation.Statement{green, red}, "", "the run red"},
		"the other order":   {"", attestation.Wanted{}, []attestation.Statement{red, green}, "", "the run red"},
		"a recovered red":   {"", attestation.Wanted{}, []attestation.Statement{red, verdict("again", 90, "PASSED")}, "again", ""},
		"the same second":   {"the worse decides", attestation.Wanted{}, []attestation.Statement{verdict("a", 0, "PASSED", attempt(2)), verdict("b", 0, "FAILED", attempt(3))}, "", "the run b"},
		"a red that took long": {"the last to end decides, as in a gate", attestation.Wanted{}, []attestation.Statement{
			verdict("slow", 0, "FAILED", func(d *attestation.Details) { d.EndedAt = tuesday.Add(time.Hour) }), verdict("quick", 1, "PASSED"),
		}, "", "the run slow"},
		"the end of one second":              {"the worse decides", attestation.Wanted{}, []attestation.Statement{verdict("a", 0, "FAILED", attempt(2)), verdict("b", 0, "PASSED", attempt(3))}, "", "the run a"},
		"of the team":                        {"", attestation.Wanted{Team: "acme"}, []attestation.Statement{green}, "green", ""},
		"of another team":                    {"it tests what it likes", attestation.Wanted{Team: "acme"}, []attestation.Statement{theirs}, "", "no verdict of the team acme"},
		"a red, and a green of another team": {"", attestation.Wanted{Team: "acme"}, []attestation.Statement{red, theirs}, "", "the run red"},
		"another commit":                     {"", attestation.Wanted{Digest: strings.Repeat("0", 40)}, []attestation.Statement{green}, "", "not among its subjects"},
		"another image":                      {"", attestation.Wanted{Algorithm: "sha256", Digest: other}, []attestation.Statement{green}, "", "not among its subjects"},
		"another algorithm":                  {"the digest of an image is no commit", attestation.Wanted{Algorithm: "sha256", Digest: sha}, []attestation.Statement{green}, "", "not among its subjects"},
		"one about another":                  {"a mixed pile is a mistake", attestation.Wanted{Algorithm: "sha256", Digest: digest}, []attestation.Statement{green, attestation.New("acme", suite(v1alpha1.Passed("")), "", nil)}, "", "not among its subjects"},
		"two Triggers":                       {"each counts", attestation.Wanted{}, []attestation.Statement{green, visual}, "green visual", ""},
		"one Trigger failed":                 {"", attestation.Wanted{}, []attestation.Statement{verdict("x", 2, "FAILED", of("visual", "staging")), green}, "", "the run x"},
		"only one Trigger":                   {"", attestation.Wanted{Triggers: []string{"smoke"}}, []attestation.Statement{verdict("x", 2, "FAILED", of("visual", "staging")), green}, "green", ""},
		"a missing Trigger":                  {"", attestation.Wanted{Triggers: []string{"smoke", "visual"}}, []attestation.Statement{green}, "", "no verdict of the Trigger visual"},
		"an Environment":                     {"", attestation.Wanted{Environments: []string{"production"}}, []attestation.Statement{green}, "", "no verdict in the Environment production"},
		"another one's red":                  {"it was in another Environment", attestation.Wanted{Environments: []string{"staging"}}, []attestation.Statement{green, verdict("x", 2, "FAILED", of("smoke", "qa"))}, "green", ""},
		"the run":                            {"", attestation.Wanted{Run: "green"}, []attestation.Statement{green}, "green", ""},
		"an older run":                       {"naming it does not make it count again", attestation.Wanted{Run: "green"}, []attestation.Statement{green, red}, "", "the run green does not count"},
		"warnings":                           {"", attestation.Wanted{}, []attestation.Statement{verdict("w", 0, "WARNED")}, "", "--allow-warnings"},
		"allowed warnings":                   {"", attestation.Wanted{Warnings: true}, []attestation.Statement{verdict("w", 0, "WARNED")}, "w", ""},
		"unknown result":                     {"", attestation.Wanted{Warnings: true}, []attestation.Statement{verdict("u", 0, "GREAT")}, "", "GREAT"},
		"fresh":                              {"", attestation.Wanted{MaxAge: 2 * time.Hour}, []attestation.Statement{green}, "green", ""},
		"stale":                              {"", attestation.Wanted{MaxAge: time.Hour}, []attestation.Statement{green}, "", "may be 1h old"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.want.Algorithm == "" {
				tc.want.Algorithm = attestation.GitCommit
			}
			if tc.want.Digest == "" {
				tc.want.Digest = sha
			}
			accepted, err := tc.want.Accept(tc.all, tuesday.Add(100*time.Minute))
			var runs []string
			for _, s := range accepted {
				runs = append(runs, s.Details().Run)
			}
			if strings.Join(runs, " ") != tc.runs || (err == nil) != (tc.why == "") {
				t.Fatalf("%s: %v, %v", tc.reason, runs, err)
			}
			if refused := (attestation.Refused{}); err != nil && (!strings.Contains(err.Error(), tc.why) || !errors.As(err, &refused)) {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// TestParse rejects what is no verdict of Postflight, although the key signed it.
func TestParse(t *testing.T) {
	for name, tc := range map[string]struct{ payload, why string }{
		"no JSON":       {"x", "cannot be read"},
		"another type":  {`{"_type":"https://in-toto.io/Statement/v0.1"}`, "no in-toto Statement v1"},
		"an SBOM":       {`{"_type":"https://in-toto.io/Statement/v1","predicateType":"https://spdx.dev/Document"}`, "no test result"},
		"another tool":  {`{"_type":"https://in-toto.io/Statement/v1","predicateType":"https://in-toto.io/attestation/test-result/v0.1","predicate":{"result":"PASSED","configuration":[{"name":"x"}]}}`, "no run"},
		"far too large": {strings.Repeat(" ", attestation.MaxPayload+1), "at most"},
	} {
		if _, err := attestation.Parse([]byte(tc.payload)); err == nil || !strings.Contains(err.Error(), tc.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
