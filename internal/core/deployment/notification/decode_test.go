package notification

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const wholeSHA = "0123456789abcdef0123456789abcdef01234567"

// typical is a body as a pipeline sends it.
const typical = `{"branch":"main","sha":"` + wholeSHA + `","deployment_type":"staging",` +
	`"deployment_url":"https://staging.example.com","hosting_service":"GitHub","commit_url":null,` +
	`"variables":{"GREP":"@smoke","REGION":"eu"},"deduplication_key":null,"ephemeral_environment":false,` +
	`"repository":{"owner":"acme","name":"shop"},"pull_request_number":12,"pipeline_id":345}`

var decodeAcceptsCases = map[string]struct {
	reason string
	body   string
	want   Notification
}{
	"Empty": {
		reason: "every field is optional",
		body:   `{}`,
	},
	"WhiteSpace": {
		reason: "JSON may have white space around it",
		body:   " \r\n\t{ } \n",
	},
	"Typical": {
		reason: "all fields of a body are read",
		body:   typical,
		want: Notification{
			Branch: "main", SHA: wholeSHA, DeploymentType: "staging", DeploymentURL: "https://staging.example.com",
			Variables:  map[string]string{"GREP": "@smoke", "REGION": "eu"},
			Repository: "acme/shop", PullRequestNumber: 12, PipelineID: 345,
		},
	},
	"Rest": {
		reason: "so are those that the typical body leaves out",
		body: `{"commit_url":"http://h/c","commit_message":"Fix login","commit_author":"Ann Lee","hosting_service":"GitLab",
			"deduplication_key":"a\nb",
			"ephemeral_environment":true,
			"deployment_url":"https://pr-1.example.com/","merge_request_number":7,"repository":{"namespace":"a/b","name":"c"}}`,
		want: Notification{
			CommitURL: "http://h/c", CommitMessage: "Fix login", CommitAuthor: "Ann Lee", HostingService: v1alpha1.GitLab,
			DeduplicationKey: "a\nb", EphemeralEnvironment: true,
			DeploymentURL: "https://pr-1.example.com/", PullRequestNumber: 7, Repository: "a/b/c",
		},
	},
	"Nulls": {
		reason: "null means absent, for every field",
		body: `{"branch":null,"sha":null,"deployment_type":null,"deployment_url":null,"hosting_service":null,"commit_url":null,
			"commit_message":null,"commit_author":null,
			"variables":null,"deduplication_key":null,"ephemeral_environment":null,
			"repository":null,"pull_request_number":null,"merge_request_number":null}`,
	},
	"EmptyStrings": {
		reason: "an unset variable of a pipeline is an empty string, which means absent",
		body: `{"branch":"","sha":" ","deployment_type":"","deployment_url":"","hosting_service":"","commit_url":"",
			"commit_message":"\n","commit_author":"<ann@example.com>",
			"deduplication_key":"","repository":""}`,
	},
	"EmptyObjects": {
		reason: "objects without content are absent",
		body:   `{"variables":{},"repository":{}}`,
	},
	"EmptyParts": {
		reason: "so is a repository of empty or null parts",
		body:   `{"repository":{"owner":"","namespace":null,"name":""}}`,
	},
	"Unknown": {
		reason: "unknown fields are accepted, whatever they hold; those of another case are unknown",
		body:   `{"Branch":"x","BRANCH":1,"event":{"branch":["x",{"sha":null}],"n":1e999},"repository":{"owner":"a","name":"b","id":7}}`,
		want:   Notification{Repository: "a/b", Unknown: []string{"Branch", "BRANCH", "event"}},
	},
	"EscapedName": {
		reason: "a name may be escaped",
		body:   `{"br\u0061nch":"x"}`,
		want:   Notification{Branch: "x"},
	},
	"BranchAsSent": {
		reason: "a branch is stored as sent",
		body:   `{"branch":" refs/heads/Fix/ü-😀 "}`,
		want:   Notification{Branch: " refs/heads/Fix/ü-😀 "},
	},
	"CommitInUpperCase": {
		reason: "a commit is trimmed and lower-cased",
		body:   `{"sha":"\t` + strings.ToUpper(wholeSHA) + `\n"}`,
		want:   Notification{SHA: wholeSHA},
	},
	"CommitOfSHA256": {
		reason: "a commit may have 64 digits",
		body:   `{"sha":"` + strings.Repeat("AB", 32) + `"}`,
		want:   Notification{SHA: strings.Repeat("ab", 32)},
	},
	"NoCommit": {
		reason: "any other text is trimmed, and keeps its case",
		body:   `{"sha":" Build 2026-11/äß "}`,
		want:   Notification{SHA: "Build 2026-11/äß"},
	},
	"ShortCommit": {
		reason: "an abbreviated commit is such text",
		body:   `{"sha":"ABCDEF1"}`,
		want:   Notification{SHA: "ABCDEF1"},
	},
	"HostingServiceInAnyCase": {
		reason: "the hosting service gets the spelling of the API",
		body:   `{"hosting_service":"gitLAB"}`,
		want:   Notification{HostingService: v1alpha1.GitLab},
	},
	"RepositoryAsText": {
		reason: "people write owner/name",
		body:   `{"repository":"acme/shop"}`,
		want:   Notification{Repository: "acme/shop"},
	},
	"RepositoryWithBothOwners": {
		reason: "owner and namespace may both be there if they agree",
		body:   `{"repository":{"owner":"acme","namespace":"acme","name":"shop"}}`,
		want:   Notification{Repository: "acme/shop"},
	},
	"BothNumbers": {
		reason: "both numbers may be there if they agree",
		body:   `{"pull_request_number":3,"merge_request_number":3}`,
		want:   Notification{PullRequestNumber: 3},
	},
	"LargestNumber": {
		reason: "numbers go up to what JSON readers keep exactly",
		body:   `{"pull_request_number":9007199254740991}`,
		want:   Notification{PullRequestNumber: MaxNumber},
	},
	"CommitMessage": {
		reason: "pages show its first line; what does not print, or reverses the text, is dropped",
		body:   `{"commit_message":"\n Fix\u202e login\u001b[2J \r\n\nAll of it.","commit_author":"Ann\u0000 Lee <ann@example.com>"}`,
		want:   Notification{CommitMessage: "Fix login", CommitAuthor: "Ann Lee"},
	},
	"LongCommitMessage": {
		reason: "a long line is no reason to refuse a deployment",
		body:   `{"commit_message":"` + long(9000) + `"}`,
		want:   Notification{CommitMessage: long(125) + " … " + long(125)},
	},
	"Variables": {
		reason: "null values are left out, whatever their names; empty ones are not; values come byte for byte",
		body:   `{"variables":{"NULL":null,"not a name":null,"EMPTY":"","-a.b_C9":" $(X)\n\t\u0001\u20ac","LD_PRELOAD":"x"}}`,
		want:   Notification{Variables: map[string]string{"EMPTY": "", "-a.b_C9": " $(X)\n\t\x01€", "LD_PRELOAD": "x"}},
	},
	"OnlyNullVariables": {
		reason: "variables of which none is left are absent",
		body:   `{"variables":{"A":null}}`,
	},
	"URLs": {
		reason: "scheme in any case, ports, paths, queries, fragments and addresses are fine",
		body:   `{"deployment_url":"HTTPS://Example.com:8443/a%20b?c=d@e#f","commit_url":"http://[::1]:80/"}`,
		want:   Notification{DeploymentURL: "HTTPS://Example.com:8443/a%20b?c=d@e#f", CommitURL: "http://[::1]:80/"},
	},
	"Longest": {
		reason: "the bounds themselves are allowed",
		body: fmt.Sprintf(`{"branch":%q,"sha":%q,"deployment_type":%q,"deduplication_key":%q,"deployment_url":%q,"repository":%q}`,
			long(MaxBranchBytes), long(MaxSHABytes), long(MaxTextBytes), long(MaxTextBytes), "http://h/"+long(MaxURLBytes-9),
			"o/"+long(MaxTextBytes-2)),
		want: Notification{
			Branch: long(MaxBranchBytes), SHA: long(MaxSHABytes), DeploymentType: long(MaxTextBytes), DeduplicationKey: long(MaxTextBytes),
			DeploymentURL: "http://h/" + long(MaxURLBytes-9), Repository: "o/" + long(MaxTextBytes-2),
		},
	},
	"DeepestNesting": {
		reason: "nesting has a bound that no client comes near",
		body:   `{"x":` + strings.Repeat("[", maxNesting-1) + strings.Repeat("]", maxNesting-1) + `}`,
		want:   Notification{Unknown: []string{"x"}},
	},
}

func TestDecodeAccepts(t *testing.T) {
	for name, tc := range decodeAcceptsCases {
		t.Run(name, func(t *testing.T) {
			if tc.want.HostingService == "" {
				tc.want.HostingService = v1alpha1.GitHub
			}
			got, err := Decode([]byte(tc.body))
			if err != nil {
				t.Fatalf("%s: Decode(%s): %v", tc.reason, tc.body, err)
			}
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Errorf("%s: Decode(%s): -want +got:\n%s", tc.reason, tc.body, diff)
			}
		})
	}
}

func long(bytes int) string { return strings.Repeat("x", bytes) }

func TestDecodeBoundsVariables(t *testing.T) {
	half := long(maxVariablesBytes/2 - 2)
	tests := map[string]struct {
		reason    string
		variables map[string]string
		want      string
	}{
		"Most":        {reason: "as many as are allowed", variables: numbered(MaxVariables)},
		"TooMany":     {reason: "one more", variables: numbered(MaxVariables + 1), want: "variables"},
		"Longest":     {reason: "a value of 32 KiB", variables: map[string]string{"A": long(MaxVariableBytes)}},
		"TooLong":     {reason: "one byte more", variables: map[string]string{"A": long(MaxVariableBytes + 1)}, want: "variables.A"},
		"Largest":     {reason: "64 KiB together, names included", variables: map[string]string{"AA": half, "BB": half}},
		"TooLarge":    {reason: "one byte more", variables: map[string]string{"AA": half, "BBB": half}, want: "variables"},
		"LongestName": {reason: "a name of 256 bytes", variables: map[string]string{long(MaxVariableNameBytes): ""}},
		"TooLongName": {reason: "one byte more", variables: map[string]string{long(MaxVariableNameBytes + 1): ""},
			want: "variables." + long(maxQuoted) + "…"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Decode(encode(t, &Notification{Variables: tc.variables}))
			if tc.want == "" {
				if err != nil {
					t.Fatalf("%s: %v", tc.reason, err)
				}
				if diff := cmp.Diff(tc.variables, got.Variables); diff != "" {
					t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
				}
				return
			}
			var invalid *InvalidError
			if !errors.As(err, &invalid) || invalid.Field != tc.want {
				t.Errorf("%s: got error %v, want one about %s", tc.reason, err, tc.want)
			}
		})
	}
}

func numbered(count int) map[string]string {
	variables := map[string]string{}
	for i := range count {
		variables[fmt.Sprintf("V%d", i)] = "x"
	}
	return variables
}

func BenchmarkDecode(b *testing.B) {
	large := fmt.Sprintf(`{"variables":{"A":%q,"B":%q},"event":[%s1]}`, long(MaxVariableBytes-8), long(MaxVariableBytes-8),
		strings.Repeat(`{"id":1,"name":"x"},`, 8000))
	for name, body := range map[string]string{"typical": typical, "empty": `{}`, "200KiB": large} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode([]byte(body)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
