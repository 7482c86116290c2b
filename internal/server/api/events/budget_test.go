package events

import (
	"strings"
	"testing"
)

// TestBodyBudget: who loses a body if there is no memory for another one.
func TestBodyBudget(t *testing.T) {
	type step struct {
		name string // of a body, whose letter is its source
		take int64
		want string // what is cut off, or the name if it is refused
	}
	for name, tc := range map[string]struct {
		reason string
		steps  []step
	}{
		"a lone source": {"it may take all", []step{{"a/x1", 60, ""}, {"a/x2", 40, ""}}},
		"the oldest": {"new ones are complete sooner than those that stall",
			[]step{{"a/x1", 50, ""}, {"a/x2", 50, ""}, {"a/x3", 10, "a/x1"}}},
		"another namespace": {"it has its share", []step{{"a/x1", 50, ""}, {"a/x2", 50, ""}, {"b/x1", 10, "a/x1"}}},
		"the one that takes most": {"a share is not for hoarding",
			[]step{{"b/x1", 10, ""}, {"a/x1", 50, ""}, {"c/x1", 40, ""}, {"d/x1", 10, "a/x1"}}},
		"another source": {"one source does not cut off the others of its namespace",
			[]step{{"a/y1", 20, ""}, {"a/x1", 40, ""}, {"a/x2", 40, ""}, {"a/y2", 10, "a/x1"}}},
		"many small ones": {"one that wants more than its share is refused",
			[]step{{"a/x1", 50, ""}, {"b/x1", 50, ""}, {"b/x1", 10, "b/x1"}}},
		"one that grows":           {"it is the only one of its source", []step{{"a/x1", 90, ""}, {"a/x1", 20, "a/x1"}}},
		"one that nothing can end": {"its sender is known", []step{{"a/x1", 90, ""}, {"a/x1", 0, "keep"}, {"b/x1", 20, "b/x1"}}},
		"without a namespace":      {"the App has its share", []step{{"a/x1", 50, ""}, {"a/x2", 50, ""}, {"/1", 30, "a/x1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			b, bodies, cut := newBodyBudget(100), map[string]*bodyRead{}, ""
			for _, st := range tc.steps {
				body := bodies[st.name]
				if body == nil {
					namespace, source, _ := strings.Cut(st.name, "/")
					body = b.begin(bodyOwner{namespace, source[:1]}, func() { cut = st.name })
					bodies[st.name] = body
				}
				if st.want == "keep" {
					body.keep()
					continue
				}
				if cut = ""; !body.take(st.take) {
					cut = st.name
				}
				if cut != st.want || b.all > b.size {
					t.Errorf("%s: %s takes %d: %q was cut off, want %q; %d are taken", tc.reason, st.name, st.take, cut, st.want, b.all)
				}
			}
			for _, body := range bodies {
				body.release()
				body.release()
			}
			if b.all != 0 || len(b.namespaces) != 0 || len(b.arriving) != 0 {
				t.Errorf("%d bytes, %d namespaces and %d bodies are left", b.all, len(b.namespaces), len(b.arriving))
			}
		})
	}
}
