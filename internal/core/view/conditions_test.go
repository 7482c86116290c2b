package view_test

import (
	"net/url"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// TestEveryConditionIsShown sets one field of a match after the other: without a condition, the page says that everything matches.
func TestEveryConditionIsShown(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[v1alpha1.TriggerMatch]()) {
		t.Run(field.Name, func(t *testing.T) {
			trigger := &v1alpha1.Trigger{}
			value := reflect.ValueOf(&trigger.Spec.Match).Elem().FieldByIndex(field.Index)
			if value.Kind() == reflect.Slice {
				value.Set(reflect.ValueOf([]string{"cart", "Only"}))
			} else {
				value.SetString("Only")
			}
			if got := view.TriggerOf(trigger, nil, noon).Matches; len(got) != 1 || len(got[0].Values) == 0 {
				t.Errorf("the page shows %v", got)
			}
		})
	}
}

// TestFormOf reads each field of the form.
func TestFormOf(t *testing.T) {
	for query, want := range map[string]*notification.Notification{
		"branch=main":            {Branch: "main"},
		"sha=%20abc%20":          {SHA: "abc"},
		"type=staging":           {DeploymentType: "staging"},
		"service=cart":           {Service: "cart"},
		"url=https://a.example":  {DeploymentURL: "https://a.example"},
		"repository=acme%2Fshop": {Repository: "acme/shop"},
		"pr=7":                   {PullRequestNumber: 7},
		"variables=A%3D1":        {Variables: map[string]string{"A": "1"}},
	} {
		t.Run(query, func(t *testing.T) {
			values, err := url.ParseQuery(query)
			if err != nil {
				t.Fatal(err)
			}
			want.HostingService = v1alpha1.GitHub
			got, err := view.FormOf(values).Notification()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
