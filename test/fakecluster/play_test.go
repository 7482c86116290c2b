package fakecluster

import (
	"context"
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/fakeclient"
	"github.com/postflight-dev/postflight/test/history"
)

// stage is a Cluster with one Job, whose node is lost at a given moment.
type stage struct {
	*Cluster
	t        *testing.T
	j        *batchv1.Job
	loses    moment
	lost     int  // runs with it
	refuses  bool // to create pods
	removals []client.DeleteOption
}

// moment is when the node is lost, once.
type moment string

const (
	never    moment = ""
	atOnce   moment = "at once"
	creating moment = "while the pod is created"
	decided  moment = "when the cluster knows what to do"
)

func newStage(t *testing.T) *stage {
	s := &stage{t: t, j: &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "run"}}}
	s.j.Finalizers = []string{metav1.FinalizerDeleteDependents}
	s.j.Spec.Template.Spec.Containers = []corev1.Container{{Name: "tests", Image: "test"}}
	s.Cluster = &Cluster{Pods: true, runs: map[string]*run{}, forgotten: sets.New[types.UID](), Tests: func(*batchv1.Job) (history.Tests, time.Duration) {
		s.reach(decided)
		return history.Passed, 0
	}}
	s.client = fake.NewClientBuilder().WithObjects(s.j).WithStatusSubresource(s.j, &corev1.Pod{}).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			s.reach(creating)
			if s.refuses {
				return errors.New("connection refused")
			}
			return c.Create(ctx, o, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			if _, ok := o.(*batchv1.Job); ok {
				return c.Delete(ctx, o, options...)
			}
			s.removals = append(s.removals, options...)
			return nil
		},
	}).Build()
	return s
}

func (s *stage) reach(m moment) {
	if s.loses == m {
		s.loses = never
		s.lost += s.LoseNode(nodeOf(s.j))
	}
}

func (s *stage) play() error {
	_, err := s.playJob(s.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s.j)})
	return err
}

func (s *stage) mustPlay() {
	s.t.Helper()
	if err := s.play(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) requestStop() {
	s.t.Helper()
	j := s.job()
	j.Annotations = map[string]string{v1alpha1.AnnotationStopRequested: time.Now().Format(time.RFC3339)}
	if err := s.client.Update(s.t.Context(), j); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) job() *batchv1.Job {
	s.t.Helper()
	j := &batchv1.Job{}
	if err := s.client.Get(s.t.Context(), client.ObjectKeyFromObject(s.j), j); err != nil {
		s.t.Fatal(err)
	}
	return j
}

// TestForget: a cache that is behind shows a run that has been forgotten once more, with its end and its Job. They are not those of the run
// that has its name by then.
func TestForget(t *testing.T) {
	s := newStage(t)
	suite := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Namespace: s.j.Namespace, Name: s.j.Name, UID: "before"}}
	s.j.OwnerReferences = []metav1.OwnerReference{{UID: suite.UID, Controller: new(true)}}
	s.client = fakeclient.Builder(t).WithObjects(s.j, suite).WithStatusSubresource(s.j, suite).Build()
	ends := func(c metav1.Condition) {
		suite.Status.Conditions = []metav1.Condition{c}
		if err := s.client.Status().Update(t.Context(), suite); err != nil {
			t.Fatal(err)
		}
	}
	see := func() Run {
		s.mustPlay()
		if _, err := s.watchSuite(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(suite)}); err != nil {
			t.Fatal(err)
		}
		return s.Run(suite.Namespace, suite.Name)
	}
	ends(v1alpha1.Failed("Tests failed."))
	if now := see(); len(now.Ends) != 1 || now.Jobs != 1 {
		t.Fatalf("before, %+v was seen", now)
	}
	s.Forget(suite)
	if now := see(); len(now.Ends) != 0 || now.Jobs != 0 {
		t.Errorf("what had been forgotten was seen again: %+v", now)
	}
	if err := s.client.Delete(t.Context(), suite); err != nil {
		t.Fatal(err)
	}
	suite.UID, suite.ResourceVersion = "after", ""
	if err := s.client.Create(t.Context(), suite); err != nil {
		t.Fatal(err)
	}
	ends(v1alpha1.Canceled("Not again."))
	if now := see(); len(now.Ends) != 1 {
		t.Errorf("the ends are %v, want one", now.Ends)
	}
}

// TestLoseNode: whenever a node is lost, a run on it is either lost with its pod, which nobody ends any more, or it is not lost. Otherwise
// a manager could not know which of both its run was.
func TestLoseNode(t *testing.T) {
	for name, tc := range map[string]struct {
		lose func(s *stage)
		lost bool
	}{
		"while no pod could be created": {func(s *stage) {
			s.loses, s.refuses = creating, true
			if s.play() == nil {
				s.t.Error("the pod was created")
			}
			s.refuses = false
		}, false},
		"while the tests run": {func(s *stage) {
			s.mustPlay()
			s.loses = atOnce
			s.reach(atOnce)
		}, true},
		"when the tests are about to end": {func(s *stage) {
			s.mustPlay()
			s.loses = decided
			s.mustPlay()
		}, true},
		"when the pod is about to be stopped": {func(s *stage) {
			s.mustPlay()
			s.requestStop()
			s.loses = decided
			s.mustPlay()
		}, true},
		"when the pod is about to be deleted": {func(s *stage) {
			s.mustPlay()
			if err := s.client.Delete(s.t.Context(), s.job()); err != nil {
				s.t.Fatal(err)
			}
			s.loses = decided
			s.mustPlay()
		}, true},
		"when the tests have ended": {func(s *stage) {
			s.mustPlay()
			s.mustPlay()
			s.loses = decided
			s.mustPlay()
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			tc.lose(s)
			s.mustPlay()
			s.mustPlay()
			r, ended := s.Run("demo", "run"), jobEnded(s)
			if lost := r.Tests == history.Lost; lost != tc.lost || (s.lost == 1) != tc.lost || ended == tc.lost {
				t.Errorf("%d runs were lost, the tests are %q, and the Job ended=%t, want lost=%t", s.lost, r.Tests, ended, tc.lost)
			}
			for _, o := range s.removals {
				if grace, ok := o.(client.GracePeriodSeconds); ok && grace == 0 && tc.lost {
					t.Error("the pod of a lost node was removed")
				}
			}
		})
	}
}

func jobEnded(s *stage) bool {
	j := &batchv1.Job{}
	err := s.client.Get(s.t.Context(), client.ObjectKeyFromObject(s.j), j)
	if apierrors.IsNotFound(err) {
		return true
	}
	for _, c := range j.Status.Conditions {
		if c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed {
			return true
		}
	}
	return false
}
