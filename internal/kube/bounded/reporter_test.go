package bounded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// reports lets a Reporter write for some seconds, and returns of which objects it wrote. Those that fails names cannot be written.
func reports(t *testing.T, l *Roster, seconds int, fails func(name string) bool) (written []string) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	api := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			mu.Lock()
			defer mu.Unlock()
			written = append(written, o.GetNamespace()+"/"+o.GetName())
			if fails(o.GetName()) {
				return errors.New("no")
			}
			return nil
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second)
	defer cancel()
	if err := (&Reporter{Roster: l, Client: api, Clock: clock.RealClock{}}).Start(ctx); err != nil {
		t.Error(err)
	}
	return written
}

// TestRefusalsTakeTurns: a team with hundreds of objects that are too large does not keep others from being told of theirs, whether its own
// can be written or not.
func TestRefusalsTakeTurns(t *testing.T) {
	for reason, fails := range map[string]bool{"written": false, "not written": true} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const others = 10
				s := sourceOf(&stored{})
				s.roster.teams = &teams{owned: map[string]bool{"many": true}, known: make(chan struct{})}
				for i := range others {
					s.roster.teams.owned[fmt.Sprintf("other-%d", i)] = true
					s.roster.admit(s, inNamespace(fmt.Sprintf("other-%d", i), aTrigger(1000, 1<<20)))
				}
				for i := range 300 {
					s.roster.admit(s, inNamespace("many", aTrigger(i, 1<<20)))
				}
				written := reports(t, s.roster, 10, func(name string) bool { return fails && name != "t-1000" })
				first := written[:others+1]
				if n := len(slices.DeleteFunc(slices.Clone(first), func(name string) bool { return name[0] == 'm' })); n != others {
					t.Errorf("%d of %d others are among the first: %v", n, others, first)
				}
				slices.Sort(written)
				if all := len(written); all < 90 || all != len(slices.Compact(written)) {
					t.Errorf("%d writes, of which some are for the same object", all)
				}
			})
		})
	}
}

// TestRefusalsAreTriedAgain: what could not be written is written later, and nothing twice.
func TestRefusalsAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sourceOf(&stored{})
		for i := range 3 {
			s.roster.admit(s, aTrigger(i, 1<<20))
		}
		tries := 0
		got := reports(t, s.roster, 60, func(name string) bool {
			if name == "t-01" {
				tries++
			}
			return name == "t-01" && tries < 3
		})
		slices.Sort(got)
		if want := []string{"acme/t-00", "acme/t-01", "acme/t-01", "acme/t-01", "acme/t-02"}; !slices.Equal(got, want) {
			t.Errorf("wrote %v, want %v", got, want)
		}
	})
}
