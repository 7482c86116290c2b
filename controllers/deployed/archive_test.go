package deployed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/internal/core/record"
)

var start = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

// memory is a store with the keys of the real one, which a test may make unavailable.
type memory struct {
	objects     map[string]record.Deployment
	unavailable bool
	left        int // requests until it becomes unavailable; negative: it does not
	writes      int
}

func newMemory() *memory { return &memory{objects: map[string]record.Deployment{}, left: -1} }

var errAway = errors.New("it refuses connections")

func (m *memory) SaveDeployment(_ context.Context, d record.Deployment) error {
	if m.left == 0 || m.unavailable {
		return errAway
	}
	m.left = max(m.left-1, -1)
	if was, found := m.objects[d.Key()]; found {
		if d = was.Merge(d); d.Equal(was) {
			return nil
		}
	}
	m.objects[d.Key()] = d
	m.writes++
	return nil
}

func (m *memory) EndDeployments(context.Context, string, string, time.Time) error { return nil }

// at returns the first line that a listing of the store has.
func (m *memory) at(s record.Series, at time.Time) (record.Deployment, error) {
	var keys []string
	for key := range m.objects {
		if key > s.From(at) && strings.HasPrefix(key, s.Prefix()) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return record.Deployment{}, fs.ErrNotExist
	}
	return m.objects[slices.Min(keys)], nil
}

// installation is an Environment, its leader and the store. Truth is what was deployed since when.
type installation struct {
	*memory
	leader *inventory
	stored *v1alpha1.Environment
	truth  []v1alpha1.Deployed
}

var staging = ctrl.Request{}

func newInstallation() *installation {
	staging.Namespace, staging.Name = "shop", "staging"
	i := &installation{memory: newMemory(), leader: newInventory(), stored: &v1alpha1.Environment{}}
	i.stored.Namespace, i.stored.Name = staging.Namespace, staging.Name
	return i
}

// rollOut writes the status as the Reconciler does.
func (i *installation) rollOut(sha string, at time.Time) {
	is := i.stored.DeepCopy()
	d := v1alpha1.Deployed{Repository: "acme/shop", SHA: sha, Since: new(metav1.NewTime(at))}
	if was := i.stored.Status.Deployed; len(was) > 0 {
		d.Previous = &v1alpha1.PreviousDeployment{SHA: was[0].SHA, Since: was[0].Since}
	}
	is.Status.Deployed = []v1alpha1.Deployed{d}
	i.write(is)
	i.truth = append(i.truth, d)
}

func (i *installation) write(is *v1alpha1.Environment) {
	is.Status.Unarchived = workloads.Unarchived(i.stored, is, i.leader.archived(staging.NamespacedName))
	i.stored = is
}

// archive is a pass of the Archiver, of a leader who sees this Environment.
func (i *installation) archive(leader *inventory, e *v1alpha1.Environment) error {
	a := &Archiver{Store: i.memory, inventory: leader}
	return a.save(context.Background(), staging, record.DeploymentsOf("acme", e))
}

// answers checks what is known of each deployment, in the middle of it, from the archive and the status as they are.
func (i *installation) answers(t *testing.T) {
	t.Helper()
	series := record.SeriesOf("acme", "staging", commit.PartOf("acme/shop", ""))
	for n, d := range i.truth {
		begun, _ := ledger.Begun(d)
		if n+1 < len(i.truth) {
			if next, _ := ledger.Begun(i.truth[n+1]); !next.After(begun) {
				t.Fatalf("%s begins at %s, and the next one at %s", d.SHA, begun, next)
			}
		}
		var archived []record.Deployment
		if line, err := i.at(series, begun); err == nil {
			archived = append(archived, line)
		}
		got := record.EnvironmentAt("acme", i.stored, archived, begun).Deployed
		if len(got) != 1 || got[0].SHA != d.SHA && !strings.Contains(got[0].Message, "Several commits were deployed in this time") {
			t.Fatalf("%d of %d: at %s there was %s, and the answer is %+v", n, len(i.truth), begun, d.SHA, got)
		}
	}
}

func (i *installation) unknown() (n int) {
	for _, d := range i.objects {
		if d.Message != "" {
			n++
		}
	}
	return n
}

// TestDeploymentsAreArchived plays histories: whatever fails, and whenever a leader ends, each answer is right, at any time, also while the
// store is unavailable.
func TestDeploymentsAreArchived(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 28))
			i, now, stale := newInstallation(), start, (*v1alpha1.Environment)(nil)
			for n := range 80 {
				now = now.Add(time.Duration(1+random.IntN(600)) * time.Second)
				switch random.IntN(8) {
				case 0, 1, 2:
					i.rollOut(fmt.Sprint("c", random.IntN(5), "-", n), now)
				case 3:
					i.left, i.unavailable = random.IntN(3), random.IntN(3) == 0
				case 4:
					i.left, i.unavailable = -1, false
				case 5: // kill -9
					i.leader = newInventory()
				case 6: // a former leader, who still sees an older status
					if stale != nil {
						_ = i.archive(newInventory(), stale)
					}
					stale = i.stored
				}
				if random.IntN(2) == 0 && i.archive(i.leader, i.stored) == nil {
					i.write(i.stored.DeepCopy())
				}
				i.answers(t)
			}
			i.left, i.unavailable = -1, false
			if err := i.archive(i.leader, i.stored); err != nil {
				t.Fatal(err)
			}
			i.write(i.stored.DeepCopy())
			i.answers(t)
			if len(i.stored.Status.Unarchived) > 0 || len(i.objects) != len(i.truth) {
				t.Errorf("%d objects of %d deployments; the status still has %d", len(i.objects), len(i.truth), len(i.stored.Status.Unarchived))
			}
		})
	}
}

// TestServicesAreArchived: services are deployed from one commit in one second, and each is a deployment of its own, which is saved once.
func TestServicesAreArchived(t *testing.T) {
	for name, branches := range map[string][2]string{"alike": {"main", "main"}, "with different lines": {"main", "hotfix"}} {
		t.Run(name, func(t *testing.T) {
			i := newInstallation()
			for n, sha := range []string{"a", "b"} {
				is, at := i.stored.DeepCopy(), metav1.NewTime(start.Add(time.Duration(n)*time.Minute))
				is.Status.Deployed = nil
				for n, name := range []string{"cart", "checkout"} {
					is.Status.Deployed = append(is.Status.Deployed,
						v1alpha1.Deployed{Repository: "acme/shop", Service: name, SHA: sha, Branch: branches[n], Since: &at})
				}
				i.write(is)
				i.left = 2
				for range 3 {
					if err := i.archive(i.leader, i.stored); err != nil {
						t.Error("the store is asked again for what it has")
					}
				}
			}
			if len(i.objects) != 4 || len(i.stored.Status.Unarchived) > 0 {
				t.Errorf("4 deployments are %d objects, and %d are left", len(i.objects), len(i.stored.Status.Unarchived))
			}
		})
	}
}

// TestStoreUnavailableForANight: 50 deployments are kept, and of more it is said that they are not known.
func TestStoreUnavailableForANight(t *testing.T) {
	for n, want := range map[int]int{10: 0, 51: 0, 52: 1, 1000: 1} {
		i := newInstallation()
		i.unavailable = true
		for k := range n {
			i.rollOut(fmt.Sprint("c", k), start.Add(time.Duration(k)*time.Minute))
			i.leader = newInventory()
		}
		i.answers(t)
		i.unavailable = false
		if err := i.archive(i.leader, i.stored); err != nil {
			t.Fatal(err)
		}
		i.write(i.stored.DeepCopy())
		i.answers(t)
		if got := i.unknown(); got != want || len(i.stored.Status.Unarchived) != 0 {
			t.Errorf("%d deployments: %d lines say that it is not known, want %d", n, got, want)
		}
	}
}

// TestDeploymentsCostNothingAgain: a line is written once, and again only if more is known. Another leader asks once.
func TestDeploymentsCostNothingAgain(t *testing.T) {
	i := newInstallation()
	i.rollOut("a", start)
	for range 5 {
		if err := i.archive(i.leader, i.stored); err != nil {
			t.Fatal(err)
		}
	}
	if err := i.archive(newInventory(), i.stored); err != nil || i.writes != 1 {
		t.Errorf("%d writes, %v", i.writes, err)
	}
	i.stored.Status.Deployed[0].Branch = "main"
	i.left = 1
	if err := i.archive(i.leader, i.stored); err != nil || i.writes != 2 || i.left != 0 {
		t.Errorf("with a branch: %d writes, %v", i.writes, err)
	}
	i.stored.Status.Deployed[0].Branch, i.left = "", -1
	if err := errors.Join(i.archive(i.leader, i.stored), i.archive(newInventory(), i.stored)); err != nil || i.writes != 2 {
		t.Errorf("what was known stays known: %d writes, %v", i.writes, err)
	}
	i.rollOut("b", start.Add(time.Hour))
	if err := i.archive(i.leader, i.stored); err != nil || len(i.stored.Status.Unarchived) != 0 || len(i.leader.saved[staging.NamespacedName]) != 1 {
		t.Errorf("%v, %+v; the inventory has %d", err, i.stored.Status, len(i.leader.saved[staging.NamespacedName]))
	}
}

// TestDeletedEnvironmentEndsOnce: when it was seen to be gone, however long the store is unavailable, unless another one has its name.
func TestDeletedEnvironmentEndsOnce(t *testing.T) {
	l := newInventory()
	if at := l.ended(staging.NamespacedName, start); !at.Equal(start) {
		t.Errorf("first at %s", at)
	}
	if at := l.ended(staging.NamespacedName, start.Add(time.Hour)); !at.Equal(start) {
		t.Errorf("after an hour at %s", at)
	}
	l.keep(staging.NamespacedName, nil)
	if at := l.ended(staging.NamespacedName, start.Add(2*time.Hour)); !at.Equal(start.Add(2 * time.Hour)) {
		t.Errorf("the next one at %s", at)
	}
	l.forget(staging.NamespacedName)
	if len(l.gone)+len(l.saved) != 0 {
		t.Errorf("%+v", l)
	}
}
