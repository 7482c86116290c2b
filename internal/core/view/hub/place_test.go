package hub

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestPlaces: each cluster is named once, with as many Environments as a sentence holds, and a link that leads to it alone.
func TestPlaces(t *testing.T) {
	place := func(name, cluster string) *v1alpha1.Environment {
		return &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.EnvironmentSpec{Cluster: cluster}}
	}
	all := []*v1alpha1.Environment{place("dev", ""), place("prod-eu", "eu"), place("prod-us", "us"), place("canary-us", "us")}
	var many, few []*v1alpha1.Environment
	for i := range 60 {
		many, few = append(many, place(fmt.Sprint("e", i), fmt.Sprintf("c%02d", i))), append(few, place(fmt.Sprintf("e%02d", i), "eu"))
	}
	answers := []Answer{{Cluster: "eu", URL: "https://eu.example.com", Overview: &httpapi.Overview{Namespace: "a/../b"}},
		{Cluster: "us", URL: "https://us.example.com"}}
	for name, tc := range map[string]struct {
		all     []*v1alpha1.Environment
		answers []Answer
		chosen  string
		want    string
	}{
		"nothing elsewhere":   {all[:1], answers, "", ""},
		"all":                 {all, answers, "", "eu: prod-eu https://eu.example.com/runs/a%2F..%2Fb; us: canary-us and prod-us https://us.example.com"},
		"one is chosen":       {all, answers, "prod-eu", "eu: prod-eu https://eu.example.com/runs/a%2F..%2Fb?environment=prod-eu"},
		"one here is chosen":  {all, answers, "dev", ""},
		"nothing is asked":    {all, nil, "canary-us", "us: canary-us "},
		"many Environments":   {few, nil, "", "eu: e00, e01, e02, e03, e04 and 55 other Environments "},
		"no link to anywhere": {all[1:2], []Answer{{Cluster: "eu", URL: "javascript:x", Overview: &httpapi.Overview{Namespace: "a"}}}, "prod-eu", "eu: prod-eu "},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range Places(tc.all, tc.answers, "runs", tc.chosen) {
				got = append(got, p.Cluster+": "+p.Environments+" "+p.URL)
			}
			if text := strings.Join(got, "; "); text != tc.want {
				t.Errorf("%q, want %q", text, tc.want)
			}
		})
	}
	if got := Places(many, nil, "runs", ""); len(got) != maxPlaces || got[49].Cluster != "c49" {
		t.Errorf("%d places, the last %+v", len(got), got[len(got)-1])
	}
}
