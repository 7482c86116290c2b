package apiserver_test

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
)

func TestMain(m *testing.M) { os.Exit(apiserver.Run(m)) }

func TestManagerHasItsRightsAndNoOthers(t *testing.T) {
	s := apiserver.New(t)
	ns := s.Namespace(t)
	c, err := client.New(s.Manager(t), client.Options{Scheme: s.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.List(t.Context(), &v1alpha1.SuiteList{}, client.InNamespace(ns)); err != nil {
		t.Errorf("the manager lists Suites: %v", err)
	}
	if err := c.List(t.Context(), &corev1.SecretList{}, client.InNamespace(ns)); !apierrors.IsForbidden(err) {
		t.Errorf("the manager lists Secrets: got %v, want it to be forbidden", err)
	}
	if err := c.List(t.Context(), &corev1.SecretList{}, client.InNamespace("postflight-system")); !apierrors.IsForbidden(err) {
		t.Errorf("the manager lists the Secrets of its own namespace: got %v, want it to be forbidden", err)
	}
	only := client.MatchingFields{"metadata.name": "postflight-sessions"}
	if err := c.List(t.Context(), &corev1.SecretList{}, client.InNamespace("postflight-system"), only); err != nil {
		t.Errorf("the manager watches the Secret of sessions: %v", err)
	}
}
