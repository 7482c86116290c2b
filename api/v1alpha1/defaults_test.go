package v1alpha1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/postflight-dev/postflight/test/apiserver"
)

func TestDefaults(t *testing.T) {
	cases := map[string]struct {
		base  func() fields
		edit  edit
		field []string
		want  any
	}{
		"Attempt":          {suite, edits(), []string{"spec", "attempt"}, int64(1)},
		"Timeout":          {trigger, edits(), []string{"spec", "timeout"}, nil}, // it would win over that of the TriggerClass
		"Duplicates":       {trigger, edits(), []string{"spec", "duplicates"}, "Commit"},
		"Supersede":        {trigger, edits(), []string{"spec", "supersede"}, "Branch"},
		"SuitesOfATeam":    {team, set("metadata/name", "team-stored"), []string{"spec", "maxSuites"}, int64(10000)},
		"UnfinishedSuites": {team, set("metadata/name", "team-unfinished"), []string{"spec", "maxUnfinishedSuites"}, int64(1000)},
		"NoBoundStays":     {team, edits(set("metadata/name", "team-unbound"), set("spec/maxSuites", 0)), []string{"spec", "maxSuites"}, int64(0)},
		"TTLAfterFinished": {trigger, set("spec/retention", fields{}), []string{"spec", "retention", "ttlAfterFinished"}, nil},
		"HostingService":   {trigger, set("spec/repository", fields{"name": "acme/shop"}), []string{"spec", "repository", "hostingService"}, "GitHub"},
		"Directory":        {trigger, set("spec/inputs", fields{"paths": list{"a.csv"}}), []string{"spec", "inputs", "directory"}, "/run-inputs"},
		"JobLabels": {trigger, set("spec/jobTemplate/metadata/labels", fields{"a": "b"}),
			[]string{"spec", "jobTemplate", "metadata", "labels"}, map[string]any{"a": "b"}},
		"PodLabels": {trigger, set("spec/jobTemplate/spec/template/metadata/labels", fields{"a": "b"}),
			[]string{"spec", "jobTemplate", "spec", "template", "metadata", "labels"}, map[string]any{"a": "b"}},
		"KeysNeverExpire":    {apiKey, edits(), []string{"spec", "expiresAt"}, nil},
		"TeamsHaveNoLimit":   {team, set("metadata/name", "defaults"), []string{"spec", "maxConcurrentSuites"}, nil},
		"SuitesAreNoRequest": {suite, edits(), []string{"spec", "cancel"}, nil},
	}
	s := apiserver.New(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := store(t, s, object(t, tc.base, tc.edit))
			got, _, err := unstructured.NestedFieldNoCopy(u.Object, tc.field...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%v (-want +got):\n%s", tc.field, diff)
			}
		})
	}
}
