package auth

import (
	"net/http"
	"strings"
	"testing"
)

func TestBearer(t *testing.T) {
	cases := map[string]struct {
		headers []string
		want    string // empty: refused
	}{
		"as documented":        {[]string{"Bearer secret"}, "secret"},
		"scheme in lower case": {[]string{"bearer secret"}, "secret"},
		"scheme in mixed case": {[]string{"bEaReR secret"}, "secret"},
		"white space around":   {[]string{" \t Bearer secret \t"}, "secret"},
		"white space between":  {[]string{"Bearer \t\t  secret"}, "secret"},
		"a tab between":        {[]string{"Bearer\tsecret"}, "secret"},
		"every character": {[]string{"Bearer " + `!"#$%&'()*+,-./09:;<=>?@AZ[\]^_` + "`az{|}~"},
			`!"#$%&'()*+,-./09:;<=>?@AZ[\]^_` + "`az{|}~"},
		"the longest":                  {[]string{"Bearer " + strings.Repeat("k", maxTokenBytes)}, strings.Repeat("k", maxTokenBytes)},
		"too long":                     {[]string{"Bearer " + strings.Repeat("k", maxTokenBytes+1)}, ""},
		"none":                         {nil, ""},
		"empty":                        {[]string{""}, ""},
		"white space":                  {[]string{"  "}, ""},
		"two headers":                  {[]string{"Bearer secret", "Bearer secret"}, ""},
		"two headers, one of it empty": {[]string{"Bearer secret", ""}, ""},
		"no scheme":                    {[]string{"secret"}, ""},
		"no key":                       {[]string{"Bearer"}, ""},
		"no key but white space":       {[]string{"Bearer \t "}, ""},
		"another scheme":               {[]string{"Basic secret"}, ""},
		"a longer scheme":              {[]string{"Bearer2 secret"}, ""},
		"two words":                    {[]string{"Bearer secret more"}, ""},
		"a control character":          {[]string{"Bearer sec\x00ret"}, ""},
		"a line break":                 {[]string{"Bearer secret\nX: y"}, ""},
		"not ASCII":                    {[]string{"Bearer sécret"}, ""},
		"a no-break space":             {[]string{"Bearer\u00a0secret"}, ""},
		"a Kelvin sign, which folds":   {[]string{"Bearer \u212a"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			token, ok := bearerToken(http.Header{"Authorization": tc.headers})
			if ok != (tc.want != "") || ok && token != tc.want {
				t.Errorf("%q, %v, want %q", token, ok, tc.want)
			}
		})
	}
}

// FuzzBearer: a key that the parser accepts is one word of visible ASCII in the header, and the same key without
// unusual white space is accepted, too.
func FuzzBearer(f *testing.F) {
	for _, seed := range []string{"Bearer secret", "bearer\tsecret ", "Bearer", "Bearer a b", " Bearer  x", "Basic x", "Bearer \u00e9",
		"Bearer sec\x00ret", "BEARER ~", ""} {
		f.Add(seed, "")
		f.Add(seed, "Bearer other")
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		headers := []string{first}
		if second != "" {
			headers = append(headers, second)
		}
		token, ok := bearerToken(http.Header{"Authorization": headers})
		if !ok {
			return
		}
		if second != "" {
			t.Errorf("two headers were accepted: %q", headers)
		}
		if !isToken(token) || !strings.Contains(first, token) {
			t.Errorf("%q is no key, or not in %q", token, first)
		}
		words := strings.FieldsFunc(first, func(r rune) bool { return r == ' ' || r == '\t' })
		if len(words) != 2 || words[1] != token || !strings.EqualFold(words[0], "bearer") {
			t.Errorf("%q was read from %q", token, first)
		}
		if again, ok := bearerToken(http.Header{"Authorization": {"Bearer " + token}}); !ok || again != token {
			t.Errorf("%q is accepted, but not in its plain form", token)
		}
	})
}
