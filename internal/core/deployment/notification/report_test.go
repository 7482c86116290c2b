package notification_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

func TestDecodeReport(t *testing.T) {
	full := &notification.Notification{
		SHA: "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d", Branch: "refs/heads/main", DeploymentType: "staging",
		DeploymentURL: "https://staging.example.com", HostingService: v1alpha1.GitHub, Repository: "acme/shop", Service: "cart", PullRequestNumber: 7,
		CommitMessage: "Fix \uFFFD", CommitAuthor: "Ann Lee", Variables: map[string]string{"REGION": "eu"}, EphemeralEnvironment: true,
	}
	bare := &notification.Notification{HostingService: v1alpha1.GitHub}
	cases := map[string]struct {
		reason string
		body   string
		want   notification.Report
	}{
		"everything": {"each published member has its place, and a text that is only shown is repaired",
			`{"json":{"workspaceId":"w1","providerDeploymentId":"d-1","status":"success","service":"cart",
				"environment":{"name":"staging","ephemeral":true},"deployTarget":"https://staging.example.com",
				"environmentVariables":{"REGION":"eu"},"metadata":{"commitSha":"5CA1AB1E0ddba115ca1ab1e0ddba115ca1ab1e0d",
				"ref":"refs/heads/main","repository":"acme/shop","pullRequestNumber":7,"commitMessage":"Fix \ud83d\nAll of it",
				"commitAuthorName":"Ann Lee","commitUrl":"not read"}},"meta":{"values":{}}}`,
			notification.Report{ID: "d-1", Status: notification.DeploymentSuccess, Notification: full}},
		"only what is required": {"the others are optional", `{"json":{"workspaceId":null,"providerDeploymentId":"d-1","status":"success"}}`,
			notification.Report{ID: "d-1", Status: notification.DeploymentSuccess, Notification: bare}},
		"nulls": {"null means absent", `{"json":{"providerDeploymentId":"d-1","status":"success","environment":null,"metadata":null,
			"deployTarget":null,"environmentVariables":null}}`,
			notification.Report{ID: "d-1", Status: notification.DeploymentSuccess, Notification: bare}},
		"pending": {"it starts nothing", `{"json":{"providerDeploymentId":"d-1","status":"pending"}}`,
			notification.Report{ID: "d-1", Status: "pending", Notification: bare}},
		"the id of an environment that fails": {"it starts nothing",
			`{"json":{"providerDeploymentId":"d-1","status":"failure","environment":{"id":"e1"}}}`,
			notification.Report{ID: "d-1", Status: "failure", Notification: bare}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := notification.DecodeReport([]byte(tc.body))
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDecodeBadReport(t *testing.T) {
	report := func(more string) string {
		return `{"json":{"providerDeploymentId":"d-1","status":"success"` + more + `}}`
	}
	for name, tc := range map[string]struct{ body, field, says string }{
		"no JSON":               {`status=success`, "", "not valid JSON"},
		"no json":               {`{"providerDeploymentId":"d-1","status":"success"}`, "json", "is missing"},
		"a batch":               {`{"0":{"json":{"providerDeploymentId":"d-1","status":"success"}}}`, "json", "batch"},
		"no id":                 {`{"json":{"status":"success"}}`, "json.providerDeploymentId", "is missing"},
		"an id in two lines":    {`{"json":{"providerDeploymentId":"a\nb","status":"success"}}`, "json.providerDeploymentId", "printable"},
		"a long id":             {`{"json":{"providerDeploymentId":"` + strings.Repeat("x", 257) + `"}}`, "json.providerDeploymentId", "256"},
		"no status":             {`{"json":{"providerDeploymentId":"d-1"}}`, "json.status", "is missing"},
		"another status":        {`{"json":{"providerDeploymentId":"d-1","status":"queued"}}`, "json.status", "pending, success, failure or inactive"},
		"a status of a number":  {`{"json":{"providerDeploymentId":"d-1","status":1}}`, "json.status", "must be a string"},
		"an id of elsewhere":    {report(`,"environment":{"id":"e1"}`), "json.environment.id", "environment.name"},
		"ephemeral at no URL":   {report(`,"environment":{"name":"pr","ephemeral":true}`), "json.environment.ephemeral", "deployTarget"},
		"a target of no scheme": {report(`,"deployTarget":"staging"`), "json.deployTarget", "http"},
		"a broken branch":       {report(`,"metadata":{"ref":"a\ud83d"}`), "json.metadata.ref", "UTF-8"},
		"a repository alone":    {report(`,"metadata":{"repository":"shop"}`), "json.metadata.repository", "full name"},
		"a variable's name":     {report(`,"environmentVariables":{"A B":"x"}`), `json.environmentVariables."A B"`, "name of a variable"},
		"no owner":              {report(`,"metadata":{"repository":{"name":"shop"}}`), "json.metadata.repository.owner", "is missing"},
		"no name":               {report(`,"metadata":{"repository":{"owner":"acme"}}`), "json.metadata.repository.name", "last part"},
		"two owners": {report(`,"metadata":{"repository":{"owner":"a","namespace":"b","name":"c"}}`), "json.metadata.repository.namespace",
			"differs from json.metadata.repository.owner"},
		"many variables":  {report(`,"environmentVariables":{` + variables(notification.MaxVariables+1, "") + `}`), "json.environmentVariables", "send fewer"},
		"large variables": {report(`,"environmentVariables":{` + variables(40, strings.Repeat("x", 4000)) + `}`), "json.environmentVariables", "too large"},
		"more after it":   {report("") + "{}", "", "continues after"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := notification.DecodeReport([]byte(tc.body))
			invalid, ok := errors.AsType[*notification.InvalidError](err)
			if !ok || invalid.Field != tc.field || !strings.Contains(invalid.Error(), tc.says) {
				t.Errorf("%+v, %v, want the field %q and %q", got, err, tc.field, tc.says)
			}
		})
	}
}

// variables are members of an object.
func variables(count int, value string) string {
	var members []string
	for i := range count {
		members = append(members, fmt.Sprintf(`"V%d":%q`, i, value))
	}
	return strings.Join(members, ",")
}
