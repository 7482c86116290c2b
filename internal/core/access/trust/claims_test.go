package trust_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/internal/core/access/trust"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
)

func TestParseClaims(t *testing.T) {
	many := func(n int) string {
		var members []string
		for i := range n {
			members = append(members, fmt.Sprintf(`"c%d":1`, i))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	for name, tc := range map[string]struct {
		payload string
		good    bool
	}{
		"good":                     {`{"iss":"a","n":1,"l":["x"],"o":{"a":1},"b":true,"z":null}`, true},
		"empty":                    {`{}`, true},
		"nothing":                  {``, false},
		"a list":                   {`[]`, false},
		"a string":                 {`"iss"`, false},
		"cut":                      {`{"iss":"a"`, false},
		"something follows":        {`{"iss":"a"} {}`, false},
		"two members":              {`{"iss":"a","iss":"b"}`, false},
		"two escaped members":      {`{"iss":"a","\u0069ss":"b"}`, false},
		"two members inside":       {`{"o":{"a":1,"a":2}}`, false},
		"two members in a list":    {`{"o":[{"a":1,"a":2}]}`, false},
		"no UTF-8":                 {"{\"iss\":\"\xff\"}", false},
		"half a surrogate":         {`{"iss":"\ud800"}`, false},
		"a comment":                {`{/**/}`, false},
		"a number that is none":    {`{"exp":NaN}`, false},
		"a leading zero":           {`{"exp":01}`, false},
		"many claims":              {many(match.MaxClaims), true},
		"too many claims":          {many(match.MaxClaims + 1), false},
		"long name":                {`{"` + strings.Repeat("x", match.MaxClaimNameBytes+1) + `":1}`, false},
		"long value":               {`{"a":"` + strings.Repeat("x", match.MaxClaimBytes) + `"}`, false},
		"deep":                     {`{"a":` + strings.Repeat("[", 4000) + strings.Repeat("]", 4000) + `}`, true},
		"deeper than any decoder":  {`{"a":` + strings.Repeat("[", 20000), false},
		"a key that is no string":  {`{1:2}`, false},
		"a comma too many":         {`{"a":1,}`, false},
		"a control in a string":    {"{\"a\":\"\n\"}", false},
		"a number of many digits":  {`{"a":` + strings.Repeat("9", 400) + `}`, true},
		"an unterminated escape":   {`{"a":"\u12"}`, false},
		"white space between them": {" {\n\"a\" : 1 } ", true},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := trust.ParseClaims([]byte(tc.payload)); (err == nil) != tc.good {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestProblem(t *testing.T) {
	seconds := func(d time.Duration) int64 { return noon.Add(d).Unix() }
	const noTimes = "does not say when it was issued"
	for name, tc := range map[string]struct {
		reason string
		change object
		want   string
	}{
		"good":                      {"", nil, ""},
		"another issuer":            {"signed by keys of this one", object{"iss": gitlab}, "signed by another issuer"},
		"issuer with a slash":       {"compared exactly", object{"iss": github + "/"}, "signed by another issuer"},
		"no issuer":                 {"", object{"iss": nil}, "signed by another issuer"},
		"a list of issuers":         {"wrong type", object{"iss": []string{github}}, "signed by another issuer"},
		"another audience":          {"it is for somebody else, who could send it here", object{"aud": "sts.amazonaws.com"}, "for the audience sts.amazonaws.com"},
		"no audience":               {"", object{"aud": nil}, "for the audience"},
		"audience in capitals":      {"compared exactly", object{"aud": "Postflight"}, "for the audience"},
		"part of an audience":       {"compared exactly", object{"aud": "postflight.example.com"}, "for the audience"},
		"empty audience":            {"", object{"aud": ""}, "for the audience"},
		"several audiences":         {"GitLab allows them", object{"aud": []string{"vault", "postflight"}}, ""},
		"several others":            {"", object{"aud": []string{"vault", "aws"}}, "for the audience"},
		"a list of no strings":      {"wrong type", object{"aud": []any{"postflight", 1}}, "for the audience"},
		"a list in a list":          {"wrong type", object{"aud": []any{[]string{"postflight"}}}, "for the audience"},
		"an object as the audience": {"wrong type", object{"aud": object{"postflight": true}}, "for the audience"},
		"a number as the audience":  {"wrong type", object{"aud": 7}, "for the audience"},
		"audience of the operator":  {"CircleCI's is the organization", object{"aud": "b1a2"}, ""},
		"expired":                   {"", object{"exp": seconds(-trust.Skew)}, "expired 1 minute ago"},
		"expired within the skew":   {"clocks differ", object{"exp": seconds(1 - trust.Skew + time.Second)}, ""},
		"no expiry":                 {"it would work for ever", object{"exp": nil}, noTimes},
		"expiry as a text":          {"wrong type", object{"exp": "1900000000"}, noTimes},
		"expiry as a list":          {"wrong type", object{"exp": []int{1900000000}}, noTimes},
		"expiry is true":            {"wrong type", object{"exp": true}, noTimes},
		"huge expiry":               {"no float has it", object{"exp": json.Number("1e999")}, noTimes},
		"late expiry":               {"no calendar has it", object{"exp": json.Number("1e300")}, noTimes},
		"negative expiry":           {"", object{"exp": -1}, noTimes},
		"expiry with a fraction":    {"RFC 7519 allows it", object{"exp": json.Number(fmt.Sprintf("%d.5", seconds(time.Minute)))}, ""},
		"expiry with an exponent":   {"a JSON number", object{"exp": json.Number("1.7637e9"), "iat": 1763640000, "nbf": nil}, "expired"},
		"no time of issue":          {"its age is not known", object{"iat": nil}, noTimes},
		"issued later":              {"", object{"iat": seconds(2 * time.Minute)}, "not valid yet"},
		"issued within the skew":    {"clocks differ", object{"iat": seconds(trust.Skew)}, ""},
		"valid later":               {"", object{"nbf": seconds(2 * time.Minute)}, "not valid yet"},
		"no begin":                  {"it is optional", object{"nbf": nil}, ""},
		"begin as a text":           {"wrong type", object{"nbf": "0"}, noTimes},
		"a day":                     {"the longest", object{"iat": seconds(-time.Minute), "exp": seconds(24*time.Hour - time.Minute)}, ""},
		"more than a day":           {"it is a key", object{"iat": seconds(-time.Minute), "exp": seconds(24 * time.Hour)}, "lives longer than 24 hours"},
		"ten years":                 {"it is a key", object{"exp": seconds(10 * 365 * 24 * time.Hour)}, "lives longer than 24 hours"},
	} {
		t.Run(name, func(t *testing.T) {
			got := parse(t, ofGitHub(tc.change)).Problem(github, []string{"postflight", "b1a2"}, noon)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
