package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/event"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/gate"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

const (
	// createTimeout bounds an attempt to create a review. As a notification, it is tried again although the sender has hung up.
	createTimeout = 5 * time.Second
	createPause   = time.Second
)

// Reviews opens the reviews of deployments that wait.
type Reviews struct {
	Cache  client.Reader
	Writer client.Writer
}

// question is what a code host asks of a team.
type question struct {
	source     Source
	repository string
	event.Review
	delivery  string
	contested bool
}

// Open creates the review of a deployment that was found without an event.
func (r Reviews) Open(ctx context.Context, s *v1alpha1.EventSource, team *v1alpha1.Team, repository string, review event.Review) error {
	_, _, err := r.open(ctx, question{source: Source{s, team}, repository: repository, Review: review})
	return err
}

// open returns the name of the review, which may exist, or why there is none.
func (r Reviews) open(ctx context.Context, q question) (name, ignored string, err error) {
	s := q.source.Object
	at := gate.Place{Source: s.Name, Host: gate.HostOf(s), Repository: q.repository, Environment: q.Environment}
	gates, err := r.gates(ctx, s.Namespace, at)
	if err != nil {
		return "", "", err
	}
	if len(gates) == 0 {
		return "", "No DeploymentGate of the team has this environment of the repository.", nil
	}
	name = gate.Name(s.UID, at.Host, q.repository, q.Review, q.delivery)
	list := &v1alpha1.DeploymentReviewList{}
	if err := r.Cache.List(ctx, list, client.InNamespace(s.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	open := 0
	for i := range list.Items {
		if list.Items[i].Name == name {
			return name, "", nil
		}
		if !list.Items[i].Ended() {
			open++
		}
	}
	if open >= gate.MaxOpen {
		return "", "", &dispatch.Error{Kind: dispatch.Overloaded, Message: fmt.Sprintf(
			"%d deployments of the team wait for decisions, and no more are taken. Deliver the event again when some are decided.", open)}
	}
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	err = r.Writer.Create(ctx, q.object(name, gates[0], at))
	switch {
	case err == nil || apierrors.IsAlreadyExists(err):
		return name, "", nil
	case apierrors.HasStatusCause(err, "NamespaceTerminating") || apierrors.IsNotFound(err):
		return "", "The namespace of the team is being deleted.", nil
	default:
		return "", "", fmt.Errorf("%w: create the DeploymentReview: %w", ErrUnavailable, err)
	}
}

func (r Reviews) gates(ctx context.Context, namespace string, at gate.Place) ([]*v1alpha1.DeploymentGate, error) {
	list := &v1alpha1.DeploymentGateList{}
	if err := r.Cache.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return gate.Matching(list.Items, at), nil
}

// The bounds of the schema, in bytes.
const maxBranch, maxRequester = 1024, 256

func (q question) object(name string, g *v1alpha1.DeploymentGate, at gate.Place) *v1alpha1.DeploymentReview {
	return &v1alpha1.DeploymentReview{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: g.Namespace, Name: name,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "DeploymentGate", Name: g.Name, UID: g.UID,
			}},
		},
		Spec: v1alpha1.DeploymentReviewSpec{
			Gate: g.Name, Source: at.Source, Contested: q.contested, HostingService: at.Host, Repository: at.Repository,
			Environment: at.Environment, SHA: q.SHA, Branch: plaintext.Line(q.Ref, maxBranch), RunID: q.RunID, DeploymentID: q.DeploymentID,
			InstallationID: q.Installation, RequestedBy: plaintext.Line(q.By, maxRequester),
		},
	}
}

// review opens the review of an event, or says why there is none. An event of the manager's App may be for several teams.
func (r *Receiver) review(ctx context.Context, s Source, d Delivery, a *Answer) (err error) {
	e := a.Event
	q := question{source: s, repository: e.Repository, Review: *e.Review, delivery: e.Delivery}
	created := e.Review.CreatedAt
	if !created.IsZero() && r.now().Sub(created) > gate.Expiry {
		a.Ignored = "The question is older than 30 days, and the code host waits for no decision any more."
		return nil
	}
	if s.Object.OfApp() {
		decides, contested, err := r.decides(ctx, s, e)
		if err != nil {
			return err
		}
		if !decides {
			a.Ignored = "The gates of another team decide about this repository, because its Team lists the repository by its name."
			return nil
		}
		q.contested = contested
	}
	for {
		a.Review, a.Ignored, err = Reviews{r.Cache, r.Dispatcher.Writer}.open(ctx, q)
		if !errors.Is(err, ErrUnavailable) || r.Clock.Since(d.ReceivedAt) >= r.Dispatcher.Budget {
			return err
		}
		if r.Dispatcher.Sleep(ctx, createPause) != nil {
			return err
		}
	}
}

// decides reports whether the gates of a source's team decide, and whether gates of other teams do, too. For a team without a gate it is
// true, so that open says what is missing.
func (r *Receiver) decides(ctx context.Context, s Source, e event.Event) (decides, contested bool, err error) {
	sources, err := r.Covering(ctx, e.Repository)
	if err != nil {
		return false, false, err
	}
	var claims []gate.Claim
	own := false
	for _, other := range sources {
		at := gate.Place{Source: other.Object.Name, Host: v1alpha1.GitHub, Repository: e.Repository, Environment: e.Review.Environment}
		gates, err := Reviews{Cache: r.Cache}.gates(ctx, other.Object.Namespace, at)
		if err != nil {
			return false, false, err
		}
		if len(gates) > 0 {
			claims = append(claims, gate.Claim{Namespace: other.Object.Namespace, Team: other.Team})
			own = own || other.Object.Namespace == s.Object.Namespace
		}
	}
	target := report.Target{Host: v1alpha1.GitHub, Repository: e.Repository}
	deciding, contested := gate.Deciding(target, r.App.Host, claims)
	return !own || slices.Contains(deciding, s.Object.Namespace), contested, nil
}
