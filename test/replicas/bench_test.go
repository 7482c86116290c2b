package replicas

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/test/apiserver"
)

const (
	benchTurns = 10
	benchTurn  = 500 // of each, per turn
	benchCrowd = 16
)

// BenchmarkAnswer sends notifications to one manager, and in turns creates the same Suites without it, with the same
// rights and concurrency on the same API server. Because of the turns, other load on the machine affects both. No
// manager reconciles, because a run costs the same in both cases.
func BenchmarkAnswer(b *testing.B) {
	s := apiserver.Alone(b)
	holdLease(b, s)
	tm := newTeam(b, s)
	tm.unbind()
	r := startReplica(b, kubeconfigOf(b, s.Manager(b)))
	r.AwaitReady()
	tm.awaitKnown([]*replica{r})
	raw, err := k8sclient.New(s.Manager(b), k8sclient.Options{Scheme: s.Scheme})
	if err != nil {
		b.Fatal(err)
	}
	trigger := tm.trigger("smoke")
	tm.get(trigger)
	create := func(sha string) error { return raw.Create(b.Context(), rawSuite(trigger, sha)) }
	answer := func(sha string) error { return created(notify(b.Context(), r.URL, tm.key, benchBody(sha))) }
	for b.Loop() {
		var creates, answers sample
		for turn := range benchTurns {
			creates.measure(b, fmt.Sprintf("raw-%d", turn), create)
			answers.measure(b, fmt.Sprintf("answer-%d", turn), answer)
		}
		fmt.Printf("ANSWER concurrency=%d per_second=%.0f raw_per_second=%.0f ratio=%.2f median_ms=%.1f raw_median_ms=%.1f p99_ms=%.1f raw_p99_ms=%.1f p99_ratio=%.2f\n",
			benchCrowd, answers.rate(), creates.rate(), answers.rate()/creates.rate(),
			answers.percentile(.5), creates.percentile(.5), answers.percentile(.99), creates.percentile(.99),
			answers.percentile(.99)/creates.percentile(.99))
	}
}

// benchBody is a notification as CI sends it.
func benchBody(sha string) string {
	return `{"branch":"main","sha":"` + sha + `","deployment_type":"staging","deployment_url":"https://staging.example.com","variables":{"REGION":"eu"}}`
}

func rawSuite(t *v1alpha1.Trigger, sha string) *v1alpha1.Suite {
	return suiteOf(t, benchBody(sha), sha)
}

// suiteOf is what becomes of a notification.
func suiteOf(t *v1alpha1.Trigger, body, request string) *v1alpha1.Suite {
	n, err := notification.Decode([]byte(body))
	if err != nil {
		panic(err)
	}
	return suite.New(suite.Request{Trigger: t, Environment: t.Spec.Environment, Notification: n, RequestID: request, ReceivedAt: time.Now(), Attempt: 1})
}

func created(a answer, err error) error {
	if err == nil && (len(a.Results) != 1 || a.Results[0].Created == "") {
		return fmt.Errorf("no run was created: %d %s", a.Status, a.Body)
	}
	return err
}

// sample are the times that calls took, and how long all of them took together.
type sample struct {
	times []time.Duration
	total time.Duration
}

func (s *sample) measure(b *testing.B, prefix string, call func(sha string) error) {
	b.Helper()
	times, next, began := make([]time.Duration, benchTurn), atomic.Int64{}, time.Now()
	var crowd sync.WaitGroup
	for range benchCrowd {
		crowd.Go(func() {
			for i := next.Add(1) - 1; i < benchTurn; i = next.Add(1) - 1 {
				start := time.Now()
				if err := call(fmt.Sprintf("%s-%d", prefix, i)); err != nil {
					b.Error(err)
				}
				times[i] = time.Since(start)
			}
		})
	}
	crowd.Wait()
	s.total += time.Since(began)
	s.times = append(s.times, times...)
}

func (s *sample) rate() float64 { return float64(len(s.times)) / s.total.Seconds() }

// percentile in milliseconds.
func (s *sample) percentile(p float64) float64 {
	slices.Sort(s.times)
	return s.times[int(p*float64(len(s.times)-1))].Seconds() * 1000
}

// holdLease makes another process the leader for the rest of the test binary.
func holdLease(t testing.TB, s *apiserver.Server) {
	t.Helper()
	now := metav1.NewMicroTime(time.Now())
	for _, o := range []k8sclient.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}},
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "postflight"}, Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("nobody"), LeaseDurationSeconds: ptr.To[int32](3600), AcquireTime: &now, RenewTime: &now,
		}},
	} {
		if err := s.Client.Create(context.Background(), o); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}
