package events

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestSecretsOfATeam: however many EventSources a team has, the Secrets of another one are remembered, and the API server is asked seldom.
func TestSecretsOfATeam(t *testing.T) {
	reads := map[string]int{}
	cluster := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
			reads[key.Namespace]++
			o.(*corev1.Secret).Data = map[string][]byte{"github": []byte(good)}
			return nil
		},
	})
	start := time.Unix(1_800_000_000, 0)
	clock := clocktesting.NewFakePassiveClock(start)
	s := newSecrets(cluster, clock)
	get := func(namespace, name string) error {
		_, err := s.get(t.Context(), secretKey{namespace, name, "github"}, false)
		return err
	}
	if err := get("acme", "postflight-events"); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for n := range 2 * maxSecrets {
		switch err := get("loud", fmt.Sprint(n)); {
		case errors.Is(err, ErrUnavailable):
			refused++
		case err != nil:
			t.Fatal(err)
		}
	}
	if reads["loud"] != maxSecretsOfNamespace || refused != 2*maxSecrets-maxSecretsOfNamespace {
		t.Errorf("%d reads of the team with many sources, and %d refused", reads["loud"], refused)
	}
	if err := get("acme", "postflight-events"); err != nil || reads["acme"] != 1 {
		t.Errorf("the Secret of another team was read %d times: %v", reads["acme"], err)
	}
	clock.SetTime(start.Add(time.Second))
	for n := range 2 * maxSecrets {
		_ = get("loud", fmt.Sprint("later", n))
	}
	if got := reads["loud"] - maxSecretsOfNamespace; got != secretReadsPerSecond {
		t.Errorf("%d reads a second later", got)
	}
	if err := get("acme", "another"); err != nil || reads["acme"] != 2 {
		t.Errorf("another Secret of the other team was read %d times: %v", reads["acme"], err)
	}
	if n := s.known.Len(); n > maxSecretsOfNamespace+2 {
		t.Errorf("%d are remembered", n)
	}
}
