package notification_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

func TestDecodeTermination(t *testing.T) {
	url := notification.Termination{DeploymentURL: "https://pr-7.example.com"}
	cases := map[string]struct {
		body  string
		want  notification.Termination
		field string
		says  string
	}{
		"as clients send it":  {body: `{"deploymentUrl":"https://pr-7.example.com"}`, want: url},
		"like a notification": {body: `{"deployment_url":"https://pr-7.example.com"}`, want: url},
		"null and empty":      {body: `{"deploymentUrl":"https://pr-7.example.com","environmentId":null,"environmentAlias":""}`, want: url},
		"UID":                 {body: `{"environmentId":"4f0a1f0e"}`, want: notification.Termination{EnvironmentID: "4f0a1f0e"}},
		"UID, like others":    {body: `{"environment_id":"4f0a1f0e"}`, want: notification.Termination{EnvironmentID: "4f0a1f0e"}},
		"name":                {body: `{"environmentAlias":"staging-x"}`, want: notification.Termination{EnvironmentAlias: "staging-x"}},
		"name, like others":   {body: `{"environment_alias":"staging-x"}`, want: notification.Termination{EnvironmentAlias: "staging-x"}},
		"unknown members": {body: `{"reason":{"a":[1]},"environmentAlias":"staging-x"}`,
			want: notification.Termination{EnvironmentAlias: "staging-x"}},
		"none":                   {body: `{}`, says: "exactly one of deploymentUrl, environmentId and environmentAlias"},
		"two":                    {body: `{"environmentId":"a","environmentAlias":"b"}`, says: "exactly one of"},
		"wrong type":             {body: `{"environmentId":7}`, field: "environmentId", says: "must be a string, not a number"},
		"no URL":                 {body: `{"deploymentUrl":"pr-7"}`, field: "deploymentUrl", says: "absolute http or https URL"},
		"control characters":     {body: `{"environmentAlias":"a\nb"}`, field: "environmentAlias", says: "printable"},
		"long":                   {body: `{"environmentAlias":"` + strings.Repeat("x", 257) + `"}`, field: "environmentAlias", says: "256"},
		"twice":                  {body: `{"environmentId":"a","environmentId":"b"}`, field: "environmentId", says: "is given twice"},
		"no object":              {body: `[]`, says: "must be a JSON object"},
		"null instead of object": {body: `null`, says: "exactly one of"},
		"more after it":          {body: `{"environmentId":"a"}{}`, says: "continues after"},
		"no UTF-8":               {body: "{\"environmentId\":\"\xff\"}", field: "environmentId", says: "UTF-8"},
		"empty":                  {body: ``, says: "is empty"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := notification.DecodeTermination([]byte(tc.body))
			if tc.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, *got); diff != "" {
					t.Error(diff)
				}
				return
			}
			invalid, ok := errors.AsType[*notification.InvalidError](err)
			if !ok || invalid.Field != tc.field || !strings.Contains(invalid.Error(), tc.says) {
				t.Errorf("%v, want the field %q and %q", err, tc.field, tc.says)
			}
		})
	}
}
