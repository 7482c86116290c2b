package apikey_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/access/apikey"
)

// scanners is the regular expression of docs/security.md.
var scanners = regexp.MustCompile(`^pf_([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?_)?[0-9A-Za-z]{38}$`)

func TestNewKeysAreRecognised(t *testing.T) {
	const start = "pf_acme-ci_"
	seen, counts := map[string]bool{}, map[rune]int{}
	const keys = 2000
	for range keys {
		key := apikey.New("acme-ci")
		if !scanners.MatchString(key) || apikey.Check(key) != nil || apikey.Namespace(key) != "acme-ci" || seen[key] {
			t.Fatalf("a bad key: %q", key)
		}
		seen[key] = true
		for _, c := range key[len(start) : len(start)+32] {
			counts[c]++
		}
	}
	// Each digit is as likely as any other: more than six standard deviations are no accident.
	mean := float64(keys*32) / 62
	for c, n := range counts {
		if math.Abs(float64(n)-mean) > 6*math.Sqrt(mean) {
			t.Errorf("%q occurs %d times, expected about %.0f", c, n, mean)
		}
	}
	if len(counts) != 62 {
		t.Errorf("%d different digits, want 62", len(counts))
	}
}

const random = "0123456789ABCDEFGHIJKLMNOPQRSTUV"

// Secret scanners and keys in use rely on these formats, so they must never change.
func TestFormsAreStable(t *testing.T) {
	for key, namespace := range map[string]string{
		"pf_" + random + "1ggZdL":                                 "",
		"pf_acme_" + random + "1YWdJo":                            "acme",
		"pf_" + strings.Repeat("a", 63) + "_" + random + "1DhLwe": strings.Repeat("a", 63),
	} {
		if !scanners.MatchString(key) || apikey.Mistyped(key) || !apikey.Mistyped(key[:len(key)-1]+"0") || apikey.Namespace(key) != namespace {
			t.Errorf("%s is not recognised as a key of %q", key, namespace)
		}
	}
}

// TestNamespace: a key that was changed, truncated or made by another program names no namespace.
func TestNamespace(t *testing.T) {
	good := apikey.New("acme")
	cases := map[string]struct {
		key      string
		mistyped bool
	}{
		"another namespace":         {strings.Replace(good, "acme", "evil", 1), true},
		"one letter wrong":          {swap(good), true},
		"cut":                       {good[:len(good)-1], false},
		"extended":                  {good + "0", false},
		"no namespace":              {strings.Replace(good, "acme_", "", 1), true},
		"empty namespace":           {strings.Replace(good, "acme", "", 1), false},
		"capitals":                  {strings.Replace(good, "acme", "Acme", 1), false},
		"ends in a dash":            {strings.Replace(good, "acme", "acme-", 1), false},
		"longer than a label":       {strings.Replace(good, "acme", strings.Repeat("a", 64), 1), false},
		"a path":                    {strings.Replace(good, "acme", "a/b", 1), false},
		"another prefix":            {strings.Replace(good, "pf_", "pg_", 1), false},
		"of another maker":          {"qawolf_0123456789abcdef", false},
		"only the prefix":           {"pf_", false},
		"shorter than the checksum": {"x", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := apikey.Namespace(tc.key); got != "" || apikey.Mistyped(tc.key) != tc.mistyped {
				t.Errorf("%s names %q and is mistyped: %t", tc.key, got, !tc.mistyped)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	good := apikey.New("acme")
	cases := map[string]struct {
		key string
		ok  bool
	}{
		"ours":             {good, true},
		"old form":         {"pf_" + random + "1ggZdL", true},
		"old form, wrong":  {"pf_" + random + "1ggZdM", false},
		"cut":              {good[:len(good)-1], true}, // may be another maker's
		"one letter wrong": {swap(good), false},
		"of another maker": {"qawolf_0123456789abcdef", true},
		"hex":              {strings.Repeat("ab12", 10), true},
		"a JWT":            {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln-_", true},
		"empty":            {"", false},
		"short":            {"hunter2", false},
		"a line":           {good + "\n", false},
		"a space":          {"0123456789 abcdef0", false},
		"not ASCII":        {"0123456789abcdefé", false},
		"too long":         {strings.Repeat("x", 4097), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := apikey.Check(tc.key); (err == nil) != tc.ok {
				t.Errorf("error %v, want none: %v", err, tc.ok)
			}
		})
	}
}

func swap(key string) string {
	other := byte('A')
	if key[20] == other {
		other = 'B'
	}
	return key[:20] + string(other) + key[21:]
}

func TestDigest(t *testing.T) {
	if got, want := apikey.Digest("abc"), fmt.Sprintf("%x", sha256.Sum256([]byte("abc"))); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
