package commit

import (
	"strings"
	"testing"
)

const whole = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"

func TestIsSHA(t *testing.T) {
	tests := map[string]struct {
		reason string
		sha    string
		want   bool
	}{
		"SHA1":      {reason: "40 digits", sha: whole, want: true},
		"SHA256":    {reason: "64 digits", sha: whole + whole[:24], want: true},
		"UpperCase": {reason: "in any case", sha: "ABCDEF" + whole[6:], want: true},
		"Short":     {reason: "an abbreviation may be ambiguous", sha: whole[:12]},
		"Between":   {reason: "50 digits", sha: whole + whole[:10]},
		"NotHex":    {reason: "g is no digit", sha: "g" + whole[1:]},
		"Empty":     {reason: "nothing", sha: ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := IsSHA(tc.sha); got != tc.want {
				t.Errorf("%s: IsSHA(%q) = %t", tc.reason, tc.sha, got)
			}
		})
	}
}

func TestNormalSHA(t *testing.T) {
	upper, lower := strings.Repeat("5CA1AB1E", 5), strings.Repeat("5ca1ab1e", 5)
	for sha, want := range map[string]string{lower: lower, upper: lower, upper[:39]: upper[:39], "v1.0-RC1": "v1.0-RC1", "": ""} {
		if got := NormalSHA(sha); got != want {
			t.Errorf("NormalSHA(%q) = %q; want %q", sha, got, want)
		}
	}
}

func TestHasSHAPrefix(t *testing.T) {
	whole := strings.Repeat("5ca1ab1e", 5)
	for name, tc := range map[string]struct {
		sha, prefix string
		want        bool
	}{
		"nothing is asked for":        {whole, "", true},
		"the beginning":               {whole, "5ca1ab1", true},
		"the beginning in upper case": {whole, "5CA1AB1", true},
		"the whole in upper case":     {whole, strings.ToUpper(whole), true},
		"the end":                     {whole, "ca1ab1e", false},
		"of other text":               {"RC1-2", "RC1", true},
		"of other text, another case": {"RC1-2", "rc1", false},
		"more than there is":          {"RC1", "RC1-2", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := HasSHAPrefix(tc.sha, tc.prefix); got != tc.want {
				t.Errorf("HasSHAPrefix(%q, %q) = %t", tc.sha, tc.prefix, got)
			}
		})
	}
}

func TestSameSHA(t *testing.T) {
	whole := "9c1d2e3f" + strings.Repeat("0", 32)
	for name, tc := range map[string]struct {
		a, b string
		want bool
	}{
		"equal commits":            {whole, whole, true},
		"another case":             {whole, strings.ToUpper(whole), true},
		"seven digits":             {whole, "9c1d2e3", true},
		"seven digits, upper case": {whole, "9C1D2E3", true},
		"six digits":               {whole, "9c1d2e", false},
		"other digits":             {whole, "9c1d2e4", false},
		"no digits":                {whole, "", false},
		"a version":                {"v1.2.3", "v1.2.3", true},
		"the beginning of a text":  {"release-2026-11", "release-2026", false},
		"two short ones":           {"9c1d2e3", "9c1d2e3f", false},
		"other commits":            {whole, "8" + whole[1:], false},
	} {
		t.Run(name, func(t *testing.T) {
			if SameSHA(tc.a, tc.b) != tc.want || SameSHA(tc.b, tc.a) != tc.want {
				t.Errorf("%q and %q: want %t", tc.a, tc.b, tc.want)
			}
		})
	}
}
