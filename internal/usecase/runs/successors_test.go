package runs

import (
	"context"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// suites are a cache of Suites by their names.
type suites map[string]*v1alpha1.Suite

func (all suites) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	s, exists := all[key.Name]
	if !exists {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "suites"}, key.Name)
	}
	s.DeepCopyInto(o.(*v1alpha1.Suite))
	return nil
}

func (all suites) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// TestSuccessorsOfRepeatedRuns ends for whatever somebody has written into the status of Suites.
func TestSuccessorsOfRepeatedRuns(t *testing.T) {
	inconclusive := func(name, by string) *v1alpha1.Suite {
		s := &v1alpha1.Suite{}
		s.Name, s.Status.RepeatedBy = name, by
		return s
	}
	for name, tc := range map[string]struct {
		all  suites
		want []string
	}{
		"repeated":       {suites{"a": inconclusive("a", "b"), "b": inconclusive("b", "")}, []string{"b"}},
		"twice":          {suites{"a": inconclusive("a", "b"), "b": inconclusive("b", "c"), "c": inconclusive("c", "")}, []string{"b", "c"}},
		"gone":           {suites{"a": inconclusive("a", "b")}, nil},
		"the next, gone": {suites{"a": inconclusive("a", "b"), "b": inconclusive("b", "c")}, []string{"b"}},
		"itself":         {suites{"a": inconclusive("a", "a")}, slices.Repeat([]string{"a"}, maxSuccessors)},
		"a circle":       {suites{"a": inconclusive("a", "b"), "b": inconclusive("b", "a")}, slices.Repeat([]string{"b", "a"}, maxSuccessors/2)},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reader{Config: Config{Cache: tc.all, Live: tc.all, Limits: DefaultLimits()}}
			all, err := r.Successors(t.Context(), tc.all["a"])
			var got []string
			for _, s := range all {
				got = append(got, s.Name)
			}
			if err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("%q, %v, want %q", got, err, tc.want)
			}
		})
	}
}
