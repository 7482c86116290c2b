package signin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	sessionSecretName  = "postflight-sessions" // the Secret of config/rbac/session_secret.yaml
	sessionSecretField = "key"

	sessionKeyBytes = 32
)

// Sessions share the key that seals cookies, and which sessions have ended, in one Secret that each replica watches. The Secret exists
// empty before the manager does, which so needs no right to create Secrets.
type Sessions struct {
	reader client.Reader
	writer client.Writer
	name   client.ObjectKey
	clock  clock.PassiveClock

	mu    sync.Mutex // held during requests to the API server
	own   []byte     // the key of this replica alone, until there is a Secret
	state atomic.Pointer[sessionState]
}

// sessionState is what the Secret says. It is never changed.
type sessionState struct {
	key   []byte // nil if there is none yet
	ended map[string]time.Time
}

// NewSessions returns the Sessions of the Secret in the namespace. The reader must not be a cache.
func NewSessions(reader client.Reader, writer client.Writer, namespace string, clock clock.PassiveClock) *Sessions {
	s := &Sessions{reader: reader, writer: writer, name: client.ObjectKey{Namespace: namespace, Name: sessionSecretName}, clock: clock}
	s.state.Store(&sessionState{})
	return s
}

// Watch uses a cache of its own, because the manager may watch no other Secret.
func (s *Sessions) Watch(ctx context.Context, mgr ctrl.Manager) error {
	only := cache.ByObject{Namespaces: map[string]cache.Config{
		s.name.Namespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", s.name.Name)},
	}}
	secrets, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{&corev1.Secret{}: only},
	})
	if err != nil {
		return fmt.Errorf("watch the Secret of sessions: %w", err)
	}
	informer, err := secrets.GetInformer(ctx, &corev1.Secret{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch the Secret of sessions: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.observe(o.(*corev1.Secret)) },
		UpdateFunc: func(_, o any) { s.observe(o.(*corev1.Secret)) },
		DeleteFunc: func(any) { s.observe(&corev1.Secret{}) },
	})
	return errors.Join(err, mgr.Add(everywhere{secrets}))
}

type everywhere struct{ cache.Cache }

func (everywhere) NeedLeaderElection() bool { return false }

func (s *Sessions) observe(secret *corev1.Secret) {
	now := &sessionState{ended: endedIn(secret)}
	if key := secret.Data[sessionSecretField]; len(key) >= sessionKeyBytes {
		now.key = key
	}
	s.state.Store(now)
}

// Key returns the key, which the first replica that needs it creates.
func (s *Sessions) Key(ctx context.Context) ([]byte, error) {
	if key := s.state.Load().key; key != nil {
		return key, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own != nil {
		return s.own, nil
	}
	secret, err := s.load(ctx)
	switch {
	case err == nil:
		s.observe(secret)
		return secret.Data[sessionSecretField], nil
	case isMissing(err):
		ctrl.Log.WithName("pages").Info("people have to sign in again after a restart, and at each replica, "+
			"because there is no Secret for sessions. "+
			"Apply config/rbac", "secret", s.name.String(), "cause", err.Error())
		s.own = newSessionKey()
		return s.own, nil
	default:
		return nil, err
	}
}

// isMissing includes a Secret that the manager may not read.
func isMissing(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) }

func (s *Sessions) load(ctx context.Context) (*corev1.Secret, error) {
	for {
		secret := &corev1.Secret{}
		if err := s.reader.Get(ctx, s.name, secret); err != nil {
			return nil, fmt.Errorf("read the Secret %s: %w", s.name, err)
		}
		if len(secret.Data[sessionSecretField]) >= sessionKeyBytes {
			return secret, nil
		}
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[sessionSecretField] = newSessionKey()
		err := s.writer.Update(ctx, secret)
		if apierrors.IsConflict(err) {
			continue // another replica was faster
		}
		if err != nil {
			return nil, fmt.Errorf("write the Secret %s: %w", s.name, err)
		}
		return secret, nil
	}
}

func newSessionKey() []byte {
	key := make([]byte, sessionKeyBytes)
	_, _ = rand.Read(key) // it never fails
	return key
}
