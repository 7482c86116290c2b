package jwt_test

import (
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/access/jwt"
)

var part = base64.RawURLEncoding.EncodeToString

func token(header, claims string) string {
	return part([]byte(header)) + "." + part([]byte(claims)) + ".signature"
}

func TestParts(t *testing.T) {
	const header, claims = `{"alg":"RS256"}`, `{"iss":"a"}`
	for name, tc := range map[string]struct {
		token             string
		isHeader, isClaim bool
	}{
		"a token":                  {token(header, claims), true, true},
		"without a signature":      {part([]byte(header)) + "." + part([]byte(claims)) + ".", true, true},
		"a header that is no JSON": {token("RS256", claims), false, true},
		"claims that are a list":   {token(header, "[]"), true, false},
		"two of a name":            {token(`{"alg":"none","alg":"RS256"}`, `{"iss":"a","\u0069ss":"b"}`), false, false},
		"two parts":                {part([]byte(header)) + "." + part([]byte(claims)), false, false},
		"four parts":               {token(header, claims) + ".", false, false},
		"padding":                  {part([]byte(header)) + "=." + part([]byte(claims)) + "=.x", false, false},
		"no base64":                {"!.!.!", false, false},
		"bits that are not zero":   {part([]byte(header)) + ".e31.x", true, false}, // {} is e30
		"the longest":              {token(header, claims) + strings.Repeat("x", jwt.MaxBytes-len(token(header, claims))), true, true},
		"too long":                 {token(header, claims) + strings.Repeat("x", jwt.MaxBytes), false, false},
		"nothing":                  {"", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			header, isHeader := jwt.Header(tc.token)
			claims, isClaim := jwt.Claims(tc.token)
			if isHeader != tc.isHeader || isClaim != tc.isClaim || header.Has("alg") != isHeader || claims.Has("iss") != isClaim {
				t.Errorf("header %v, claims %v", isHeader, isClaim)
			}
		})
	}
}

func read(t *testing.T, content string) jwt.Object {
	t.Helper()
	o, err := jwt.ReadObject([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestMembers(t *testing.T) {
	var most []string
	for n := range 256 {
		most = append(most, fmt.Sprintf(`"c%d":1`, n))
	}
	all := strings.Join(most, ",")
	read(t, "{"+all+"}")
	if _, err := jwt.ReadObject([]byte("{" + all + `,"one":"more"}`)); err == nil {
		t.Error("an object with too many members is read")
	}
	o := read(t, `{"text":"a\u0062","number":1,"null":null,"list":[]}`)
	for name, tc := range map[string]struct {
		has   bool
		kind  jsontext.Kind
		text  string
		valid bool
	}{
		"text":   {true, '"', "ab", true},
		"number": {true, '0', "", false},
		"null":   {true, 0, "", true},
		"list":   {true, '[', "", false},
		"none":   {false, 0, "", true},
		"TEXT":   {false, 0, "", true},
	} {
		text, valid := o.Text(name)
		if o.Has(name) != tc.has || o.Kind(name) != tc.kind || text != tc.text || valid != tc.valid {
			t.Errorf("%s: %v, %v, %q, %v", name, o.Has(name), o.Kind(name), text, valid)
		}
	}
}

func TestAudiences(t *testing.T) {
	for claims, tc := range map[string]struct {
		want  []string
		valid bool
	}{
		`{"aud":"a"}`:             {[]string{"a"}, true},
		`{"aud":["a","b"]}`:       {[]string{"a", "b"}, true},
		`{"aud":[]}`:              {nil, true},
		`{"aud":null}`:            {nil, true},
		`{}`:                      {nil, true},
		`{"aud":["a",1]}`:         {nil, false},
		`{"aud":[["a"]]}`:         {nil, false},
		`{"aud":{"a":"a"}}`:       {nil, false},
		`{"aud":7}`:               {nil, false},
		`{"AUD":"a","Aud":["a"]}`: {nil, true},
	} {
		got, valid := read(t, claims).Audiences()
		if valid != tc.valid || !cmp.Equal(got, tc.want) {
			t.Errorf("%s: %v, %v", claims, got, valid)
		}
	}
}

func TestTimes(t *testing.T) {
	for claims, tc := range map[string]struct {
		seconds  float64
		isNumber bool
		want     time.Time
		isTime   bool
	}{
		`{"exp":1000}`:     {1000, true, time.Unix(1000, 0), true},
		`{"exp":1000.5}`:   {1000.5, true, time.Unix(1000, 5e8), true},
		`{"exp":1e3}`:      {1000, true, time.Unix(1000, 0), true},
		`{"exp":0}`:        {0, true, time.Unix(0, 0), true},
		`{"exp":-1}`:       {-1, true, time.Time{}, false},
		`{"exp":1e300}`:    {1e300, true, time.Time{}, false},
		`{"exp":1e999}`:    {math.Inf(1), true, time.Time{}, false},
		`{"exp":null}`:     {0, true, time.Time{}, false},
		`{}`:               {0, true, time.Time{}, false},
		`{"exp":"1000"}`:   {0, false, time.Time{}, false},
		`{"exp":[1000]}`:   {0, false, time.Time{}, false},
		`{"exp":true}`:     {0, false, time.Time{}, false},
		`{"nbf":1,"x":{}}`: {0, true, time.Time{}, false},
	} {
		o := read(t, claims)
		seconds, isNumber := o.Seconds("exp")
		got, isTime := o.Time("exp")
		if seconds != tc.seconds || isNumber != tc.isNumber || !got.Equal(tc.want) || isTime != tc.isTime {
			t.Errorf("%s: %v, %v, %v, %v", claims, seconds, isNumber, got, isTime)
		}
	}
}
