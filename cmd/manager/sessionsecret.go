package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// sessionSecretName is the Secret of config/rbac/session_secret.yaml.
	sessionSecretName = "postflight-sessions"

	// sessionSecretField is the entry of the Secret that holds the key.
	sessionSecretField = "key"

	sessionKeyBytes = 32
)

// sessionSecret is the key with which the pages seal cookies. All replicas share it through one Secret, which exists
// before the manager does and is empty at first: so the manager may read and write this Secret, and create none.
type sessionSecret struct {
	reader client.Reader
	writer client.Writer
	name   client.ObjectKey

	mu  sync.Mutex
	key []byte
}

func newSessionSecret(mgr ctrl.Manager, o options) (*sessionSecret, error) {
	writer, err := newWriter(mgr)
	if err != nil {
		return nil, err
	}
	name := client.ObjectKey{Namespace: o.leaderElectionNamespace, Name: sessionSecretName}
	return &sessionSecret{reader: mgr.GetAPIReader(), writer: writer, name: name}, nil
}

// Key reads the key once, and makes it if no replica has.
func (s *sessionSecret) Key(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key != nil {
		return s.key, nil
	}
	key, err := s.load(ctx)
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		ctrl.Log.WithName("pages").Info("people have to sign in again after a restart, and at each replica, because there is no Secret for sessions. "+
			"Apply config/rbac", "secret", s.name.String(), "cause", err.Error())
		key = newSessionKey()
	case err != nil:
		return nil, err
	}
	s.key = key
	return key, nil
}

func (s *sessionSecret) load(ctx context.Context) ([]byte, error) {
	for {
		secret := &corev1.Secret{}
		if err := s.reader.Get(ctx, s.name, secret); err != nil {
			return nil, fmt.Errorf("read the Secret %s: %w", s.name, err)
		}
		if key := secret.Data[sessionSecretField]; len(key) >= sessionKeyBytes {
			return key, nil
		}
		secret.Data = map[string][]byte{sessionSecretField: newSessionKey()}
		err := s.writer.Update(ctx, secret)
		if apierrors.IsConflict(err) {
			continue // another replica was faster
		}
		if err != nil {
			return nil, fmt.Errorf("write the Secret %s: %w", s.name, err)
		}
		return secret.Data[sessionSecretField], nil
	}
}

func newSessionKey() []byte {
	key := make([]byte, sessionKeyBytes)
	_, _ = rand.Read(key) // it never fails
	return key
}
