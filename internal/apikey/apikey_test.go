package apikey_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/apikey"
)

func TestNewKeysAreRecognised(t *testing.T) {
	form := regexp.MustCompile(`^pf_[0-9A-Za-z]{38}$`)
	seen, counts := map[string]bool{}, map[rune]int{}
	const keys = 2000
	for range keys {
		key := apikey.New()
		if !form.MatchString(key) || !apikey.Recognised(key) || apikey.Check(key) != nil || seen[key] {
			t.Fatalf("a bad key: %q", key)
		}
		seen[key] = true
		for _, c := range key[3:35] {
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

// The form is a promise to secret scanners: this key must be recognised for ever.
func TestFormIsStable(t *testing.T) {
	const key = "pf_0123456789ABCDEFGHIJKLMNOPQRSTUV" + "1ggZdL"
	if !apikey.Recognised(key) {
		t.Errorf("%s is not recognised", key)
	}
}

func TestCheck(t *testing.T) {
	good := apikey.New()
	cases := map[string]struct {
		key string
		ok  bool
	}{
		"ours":             {good, true},
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
	if key[10] == other {
		other = 'B'
	}
	return key[:10] + string(other) + key[11:]
}

func TestDigest(t *testing.T) {
	if got, want := apikey.Digest("abc"), fmt.Sprintf("%x", sha256.Sum256([]byte("abc"))); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
