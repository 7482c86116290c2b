package replicas

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
)

// attacker is a team that does what it may, and more of it than is useful. Its loops pause, so that others wait neither for the API
// server nor for the processors.
type attacker struct {
	*team
	teamless *team            // a namespace that no Team has
	c        k8sclient.Client // of a person with the role edit in both

	created, refused, touched, answered, failed, stalled atomic.Int64
}

func (a *attacker) String() string {
	return fmt.Sprintf("HOSTILE_LOAD objects=%d refused_objects=%d annotations=%d insights=%d failed_insights=%d stalled_connections=%d",
		a.created.Load(), a.refused.Load(), a.touched.Load(), a.answered.Load(), a.failed.Load(), a.stalled.Load())
}

// hostileSources are EventSources whose Secret does not exist.
var hostileSources = []string{"source-1", "source-2", "source-3", "source-4"}

func newAttacker(t *testing.T, s *apiserver.Server) *attacker {
	t.Helper()
	a := &attacker{team: newTeam(t, s), teamless: &team{t: t, s: s, namespace: s.Namespace(t)}}
	owner := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: a.namespace}}
	a.update(owner, func() {
		owner.Annotations = map[string]string{v1alpha1.AnnotationRecordsSince: time.Now().AddDate(-1, 0, 0).Format(time.RFC3339)}
	})
	a.binds("postflight-workloads-reader")
	a.binds("postflight-credentials-reader")
	for _, name := range hostileSources {
		a.create(a.eventSource(name))
	}
	config := rest.CopyConfig(s.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "mallory", Groups: []string{"system:authenticated"}}
	var err error
	if a.c, err = k8sclient.New(config, k8sclient.Options{Scheme: s.Scheme}); err != nil {
		t.Fatal(err)
	}
	for _, tm := range []*team{a.team, a.teamless} {
		tm.letsEdit("mallory")
		t.Cleanup(tm.clearObjects)
	}
	return a
}

// letsEdit gives a person what the role edit comes to in a cluster, whose controllers put it together.
func (tm *team) letsEdit(person string) {
	tm.t.Helper()
	for _, part := range []string{"system:aggregate-to-view", "system:aggregate-to-edit", "postflight-view", "postflight-edit"} {
		tm.create(&rbacv1.RoleBinding{
			ObjectMeta: tm.meta(strings.ReplaceAll(part, ":", "-")),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: part},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: person}},
		})
	}
}

// attack asks, annotates and stalls until stop is called.
func (a *attacker) attack(r *replica, l hostileLoad, deployments []k8sclient.Object) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, d := range deployments {
		all.Go(func() { a.touch(ctx, d) })
	}
	for range l.readers {
		all.Go(func() { repeat(ctx.Done(), time.Second, func() error { return a.readInsights(ctx, r) }) })
	}
	for _, source := range hostileSources {
		for range l.stalled {
			all.Go(func() { a.stall(ctx, r, source) })
		}
	}
	return func() { cancel(); all.Wait() }
}

// touch annotates a workload every second.
func (a *attacker) touch(ctx context.Context, o k8sclient.Object) {
	atMostEvery(ctx, time.Second, func() {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"touched":"%d"}}}`, a.touched.Add(1))
		err := a.c.Patch(ctx, o.DeepCopyObject().(k8sclient.Object), k8sclient.RawPatch(types.MergePatchType, patch))
		if err != nil && ctx.Err() == nil {
			a.t.Error(err)
		}
	})
}

// readInsights asks for all of the history.
func (a *attacker) readInsights(ctx context.Context, r *replica) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+"/api/v0/insights?days=90", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+a.key)
	_, err = readOK(client, request)
	switch {
	case err == nil:
		a.answered.Add(1)
	case strings.HasPrefix(err.Error(), "status 4"):
		a.t.Errorf("the request for insights is wrong: %v", err)
	default:
		a.failed.Add(1)
	}
	return err
}

// stall sends most of an event without a key, and sends another one when the manager has hung up, at most one a second.
func (a *attacker) stall(ctx context.Context, r *replica, source string) {
	event := visitors{url: r.URL, send: "POST /api/events/" + a.namespace + "/" + source + " HTTP/1.1\r\nHost: x\r\n" +
		"X-GitHub-Event: push\r\nContent-Type: application/json\r\nContent-Length: 409600\r\n\r\n" + strings.Repeat(" ", 400_000)}
	atMostEvery(ctx, time.Second, func() {
		c := event.connect()
		if c == nil {
			return
		}
		a.stalled.Add(1)
		defer c.Close()
		defer context.AfterFunc(ctx, func() { c.Close() })()
		_, _ = io.Copy(io.Discard, c)
	})
}

// atMostEvery acts until ctx is done, as soon as it can, and at most once in a time.
func atMostEvery(ctx context.Context, every time.Duration, act func()) {
	next := time.NewTicker(every)
	defer next.Stop()
	for ctx.Err() == nil {
		act()
		select {
		case <-ctx.Done():
		case <-next.C:
		}
	}
}
