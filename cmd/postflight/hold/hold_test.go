package hold

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/test/clitest"
)

func TestHold(t *testing.T) {
	held := func(until time.Time, by string) *v1alpha1.Environment {
		return &v1alpha1.Environment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "staging", Annotations: map[string]string{v1alpha1.AnnotationHeldBy: by,
				"a": "b"}},
			Spec: v1alpha1.EnvironmentSpec{URL: "https://staging.example.com",
				Hold: &v1alpha1.EnvironmentHold{Until: metav1.NewTime(until), Reason: "debugging 812"}},
		}
	}
	unexplained := held(clitest.Noon.Add(time.Hour), "ben")
	unexplained.Spec.Hold.Reason = ""
	free := held(clitest.Noon, "")
	free.Spec.Hold, free.Annotations = nil, map[string]string{"a": "b"}
	inAnHour := v1alpha1.EnvironmentHold{Until: metav1.NewTime(clitest.Noon.Add(time.Hour)), Reason: "debugging 812"}
	for name, tc := range map[string]struct {
		is      *v1alpha1.Environment
		options Options
		want    *v1alpha1.EnvironmentHold
		by      string
		says    []string
	}{
		"hold": {
			is: free, options: Options{For: time.Hour, Reason: "debugging 812"}, want: &inAnHour, by: "ada",
			says: []string{"staging in the namespace acme is on hold until 13:00 UTC. Release it earlier: postflight hold staging --release -n acme"},
		},
		"hold for days": {
			is: free, options: Options{For: 48 * time.Hour},
			want: &v1alpha1.EnvironmentHold{Until: metav1.NewTime(clitest.Noon.Add(48 * time.Hour))}, by: "ada",
			says: []string{"until 12:00 UTC on 22 November 2026."},
		},
		"hold of somebody else": {
			is: held(clitest.Noon.Add(2*time.Hour), "ben"), options: Options{For: time.Hour, Reason: "debugging 812"}, want: &inAnHour, by: "ada",
			says: []string{"staging in the namespace acme is on hold until 13:00 UTC.", "It was on hold until 14:00 UTC (debugging 812, by ben)."},
		},
		"release": {
			is: held(clitest.Noon.Add(time.Hour), "ben"), options: Options{Release: true},
			says: []string{"staging in the namespace acme is released, and its queue continues.", "It was on hold until 13:00 UTC (debugging 812, by ben)."},
		},
		"release of one without a reason": {
			is: unexplained, options: Options{Release: true}, says: []string{"It was on hold until 13:00 UTC (by ben)."},
		},
		"release of one that is over": {
			is: held(clitest.Noon, "ben"), options: Options{Release: true}, says: []string{"staging in the namespace acme was not on hold."},
		},
		"release of one that is free": {is: free, options: Options{Release: true}, says: []string{"staging in the namespace acme was not on hold."}},
	} {
		t.Run(name, func(t *testing.T) {
			console, _, log := clitest.Console()
			o := tc.options
			o.Cluster = clitest.Cluster(console, tc.is.DeepCopy())
			if err := o.Run(t.Context(), "staging"); err != nil {
				t.Fatal(err)
			}
			clitest.Contains(t, "standard error", log.String(), tc.says...)
			e := &v1alpha1.Environment{}
			if err := o.Client.Get(t.Context(), client.ObjectKey{Namespace: "acme", Name: "staging"}, e); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, e.Spec.Hold); diff != "" {
				t.Errorf("hold (-want +got):\n%s", diff)
			}
			if e.Annotations[v1alpha1.AnnotationHeldBy] != tc.by || e.Annotations["a"] != "b" || e.Spec.URL == "" {
				t.Errorf("%v %+v, want it held by %q, and nothing else changed", e.Annotations, e.Spec, tc.by)
			}
		})
	}
}

func TestHoldOfNothing(t *testing.T) {
	console, _, _ := clitest.Console()
	o := &Options{Cluster: clitest.Cluster(console), For: time.Hour}
	clitest.Fails(t, "an unknown name", o.Run(t.Context(), "stagign"), `there is no Environment "stagign" in the namespace acme`)
}

func TestHoldNeedsAnEnd(t *testing.T) {
	for args, want := range map[string]string{
		"staging":                      "say how long: --for 1h. To end a hold: --release",
		"staging --for 0s":             "say how long",
		"staging --for -1h":            "a hold lasts from 1s to 7d",
		"staging --for 169h":           "--for 169h: a hold lasts from 1s to 7d",
		"staging --release --for 1h":   "--release ends a hold now",
		"staging --release --reason x": "--release ends a hold now",
		"--for 1h":                     "accepts 1 arg(s), received 0",
		"staging --for 1h --reason " + strings.Repeat("x", 257): "--reason has 257 characters, and at most 256 are accepted",
	} {
		clitest.Program{New}.Expect(t, cli.ExitTrouble, nil, []string{want}, strings.Fields("hold --kubeconfig testdata/none "+args)...)
	}
}
