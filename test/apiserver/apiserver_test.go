package apiserver_test

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

func TestMain(m *testing.M) { os.Exit(apiserver.Run(m)) }

func TestManagerHasItsRightsAndNoOthers(t *testing.T) {
	s := apiserver.New(t)
	ns := s.Namespace(t)
	c, err := client.New(s.Manager(t), client.Options{Scheme: s.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the manager lists Suites", func() string { // the API server acts on roles a moment after they have changed
		if err := c.List(t.Context(), &v1alpha1.SuiteList{}, client.InNamespace(ns)); err != nil {
			return err.Error()
		}
		return ""
	})
	if err := c.List(t.Context(), &corev1.SecretList{}, client.InNamespace(ns)); !apierrors.IsForbidden(err) {
		t.Errorf("the manager lists Secrets: got %v, want it to be forbidden", err)
	}
	if err := c.List(t.Context(), &corev1.SecretList{}, client.InNamespace("postflight-system")); !apierrors.IsForbidden(err) {
		t.Errorf("the manager lists the Secrets of its own namespace: got %v, want it to be forbidden", err)
	}
	only := client.MatchingFields{"metadata.name": "postflight-sessions"}
	poll.Until(t, "the manager watches the Secret of sessions", func() string {
		if err := c.List(t.Context(), &corev1.SecretList{}, client.InNamespace("postflight-system"), only); err != nil {
			return err.Error()
		}
		return ""
	})
}
