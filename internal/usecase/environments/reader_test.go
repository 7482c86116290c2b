package environments

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// lines are what an archive has of the Environment "gone".
type lines struct {
	all []record.Deployment
	err error
}

func (l lines) DeploymentsAt(context.Context, string, string, time.Time) ([]record.Deployment, error) {
	return l.all, l.err
}

func (l lines) DeploymentHistory(context.Context, string, string, record.Span, int) ([]record.Deployment, bool, error) {
	return l.all, false, l.err
}

// TestKnown: a team sees what it had itself, and whatever cannot be known is no empty answer.
func TestKnown(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	staging := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "staging"}}
	team := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "acme", CreationTimestamp: metav1.NewTime(noon.Add(-48 * time.Hour))}}
	line := func(hoursAgo int) record.Deployment {
		return record.Deployment{Environment: "gone", Deployment: httpapi.Deployment{SHA: "a", Since: noon.Add(-time.Duration(hoursAgo) * time.Hour)}}
	}
	away := errors.New("away")
	for name, tc := range map[string]struct {
		environment string
		archive     Archive
		err         error
		found       int
	}{
		"archived":           {"gone", lines{all: []record.Deployment{line(2)}}, nil, 1},
		"of a former team":   {"gone", lines{all: []record.Deployment{line(50)}}, ErrNotFound, 0},
		"of both":            {"gone", lines{all: []record.Deployment{line(2), line(50)}}, nil, 1},
		"nothing then":       {"gone", lines{}, ErrNotFound, 0},
		"never":              {"gone", lines{err: fs.ErrNotExist}, ErrNotFound, 0},
		"unavailable":        {"gone", lines{err: away}, away, 0},
		"exists":             {"staging", lines{err: fs.ErrNotExist}, nil, 0},
		"exists, but":        {"staging", lines{err: away}, away, 0},
		"without an archive": {"staging", nil, nil, 0},
		"gone without one":   {"gone", nil, ErrNotFound, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reader{Cache: fake.NewClientBuilder().WithScheme(scheme).WithObjects(staging).Build(), Archive: tc.archive, LookupTimeout: time.Minute}
			at, err := r.At(t.Context(), team, tc.environment, noon)
			history, err2 := r.History(t.Context(), team, tc.environment, time.Time{}, 10)
			if !errors.Is(err, tc.err) || !errors.Is(err2, tc.err) || tc.err == nil && (at.Name != tc.environment || at.Namespace != "acme") {
				t.Errorf("%v, %v, %+v", err, err2, at)
			}
			if len(history.Deployments) != tc.found || len(at.Deployed) != tc.found {
				t.Errorf("%+v, %+v", at, history)
			}
		})
	}
}
