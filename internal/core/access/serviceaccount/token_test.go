package serviceaccount_test

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/access/serviceaccount"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func token(header, claims string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".signature"
}

func TestUnverified(t *testing.T) {
	const signed = `{"alg":"RS256","kid":"a"}`
	for name, tc := range map[string]struct {
		reason string
		token  string
		want   *serviceaccount.Claims // nil: it is no token
	}{
		"of a pod": {"it has all claims",
			token(signed, `{"iss":"https://a","sub":"system:serviceaccount:acme:ci","aud":["postflight"],"exp":1000,"kubernetes.io":{"namespace":"acme"}}`),
			&serviceaccount.Claims{Algorithm: "RS256", Issuer: "https://a", Subject: "system:serviceaccount:acme:ci", Audience: []string{"postflight"}, Expires: time.Unix(1000, 0), Bound: true}},
		"audience as a text": {"a text is a list of one", token(signed, `{"aud":"a"}`), &serviceaccount.Claims{Algorithm: "RS256", Audience: []string{"a"}}},
		"no end":             {"the zero time stands for none", token(signed, `{"exp":0}`), &serviceaccount.Claims{Algorithm: "RS256"}},
		"a negative end":     {"it is no time", token(signed, `{"exp":-5}`), &serviceaccount.Claims{Algorithm: "RS256"}},
		"an end too far":     {"a time is bounded", token(signed, `{"exp":1e300}`), &serviceaccount.Claims{Algorithm: "RS256", Expires: time.Unix(4294967294, 0)}},
		"empty":              {"nothing is no token", "", nil},
		"an API key":         {"it has no parts", "pf_acme_0123456789", nil},
		"two parts":          {"the signature is missing", "a.b", nil},
		"four parts":         {"that is something else", "a.b.c.d", nil},
		"an empty part":      {"the claims are missing", "a..c", nil},
		"no base64":          {"it cannot be decoded", "!.!.!", nil},
		"no JSON":            {"it cannot be decoded", token(signed, "nothing"), nil},
		"a list":             {"claims are an object", token(signed, "[]"), nil},
		"a wrong type":       {"a subject is a text", token(signed, `{"sub":1}`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := serviceaccount.Unverified(tc.token)
			if ok != (tc.want != nil) {
				t.Fatalf("%s: %v, %+v", tc.reason, ok, got)
			}
			if tc.want != nil && !cmp.Equal(*tc.want, got) {
				t.Errorf("%s (-want +got):\n%s", tc.reason, cmp.Diff(*tc.want, got))
			}
		})
	}
}

func TestMayBeGood(t *testing.T) {
	good := serviceaccount.Claims{Algorithm: "ES256", Audience: []string{"vault", "postflight"}, Expires: noon.Add(time.Hour)}
	for name, tc := range map[string]struct {
		reason string
		change func(*serviceaccount.Claims)
		want   bool
	}{
		"good":             {"one of its audiences is right", func(*serviceaccount.Claims) {}, true},
		"of a collector":   {"its audience is another one", func(c *serviceaccount.Claims) { c.Audience = []string{"postflight-collect"} }, false},
		"no audience":      {"it is for nobody", func(c *serviceaccount.Claims) { c.Audience = nil }, false},
		"no algorithm":     {"it is not signed", func(c *serviceaccount.Claims) { c.Algorithm = "" }, false},
		"algorithm none":   {"it is not signed", func(c *serviceaccount.Claims) { c.Algorithm = "none" }, false},
		"no end":           {"the API server gives every token one", func(c *serviceaccount.Claims) { c.Expires = time.Time{} }, false},
		"expired a minute": {"the clocks may differ by five minutes", func(c *serviceaccount.Claims) { c.Expires = noon.Add(-time.Minute) }, true},
		"expired":          {"the clocks differ by no more than five minutes", func(c *serviceaccount.Claims) { c.Expires = noon.Add(-5 * time.Minute) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := good
			tc.change(&c)
			if got := c.MayBeGood(noon, serviceaccount.Audience); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}

func TestAccount(t *testing.T) {
	for subject, want := range map[string]string{
		"system:serviceaccount:acme:ci":       "acme/ci",
		"system:serviceaccount:acme:":         "",
		"system:serviceaccount::ci":           "",
		"system:serviceaccount:acme":          "",
		"system:serviceaccount:acme:ci:extra": "",
		"system:serviceaccounts:acme:ci":      "",
		"system:node:acme:ci":                 "",
		"acme:ci":                             "",
		"":                                    "",
	} {
		t.Run(subject, func(t *testing.T) {
			namespace, name, ok := serviceaccount.Claims{Subject: subject}.Account()
			got := namespace + "/" + name
			if ok != (want != "") || ok && got != want {
				t.Errorf("%v, %s, want %q", ok, got, want)
			}
		})
	}
}
