package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/apikey"
)

// Keys makes, lists and revokes API keys, through the kubeconfig.
type Keys struct {
	Cluster *Cluster
	Console *Console
	Now     func() time.Time
}

// NewKey is what to make.
type NewKey struct {
	Name, Description string
	Expires           time.Duration // 0: never
	Existing          string        // a key to take over; empty: make one
}

// createdKey is what -o json prints.
type createdKey struct {
	Name      string       `json:"name"`
	Namespace string       `json:"namespace"`
	Key       string       `json:"key,omitempty"` // of a new one, this once
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
}

// Create makes an APIKey object, and prints the key, which is stored nowhere.
func (c *Keys) Create(ctx context.Context, n NewKey) error {
	key := cmp.Or(n.Existing, apikey.New(c.Cluster.Namespace))
	if err := apikey.Check(key); err != nil {
		return err
	}
	names := apikey.Namespace(key)
	if names != "" && names != c.Cluster.Namespace {
		return fmt.Errorf("the key names the namespace %s, and would be refused in the namespace %s: make a new one there", names, c.Cluster.Namespace)
	}
	object := &v1alpha1.APIKey{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Cluster.Namespace, Name: n.Name},
		Spec:       v1alpha1.APIKeySpec{SHA256: apikey.Digest(key), NamesNamespace: names != "", Description: n.Description},
	}
	if n.Expires > 0 {
		object.Spec.ExpiresAt = &metav1.Time{Time: c.Now().Add(n.Expires)}
	}
	if err := c.Cluster.Create(ctx, object); err != nil {
		return c.Cluster.explainError(err, fmt.Sprintf("APIKey %q", n.Name))
	}
	created := createdKey{Name: n.Name, Namespace: c.Cluster.Namespace, Key: key, ExpiresAt: object.Spec.ExpiresAt}
	if n.Existing != "" {
		created.Key = "" // whoever gave it knows it
	}
	return c.tell(created)
}

func (c *Keys) tell(k createdKey) error {
	if c.Console.JSON {
		return c.Console.WriteJSON(k)
	}
	if k.Key == "" {
		c.Console.Note("APIKey %s in the namespace %s has the hash of the given key. Whether it is accepted, and if not, why: kubectl get apikey %s -n %s -o wide",
			k.Name, k.Namespace, k.Name, k.Namespace)
		return nil
	}
	c.Console.Note("APIKey %s in the namespace %s. This is the only time that the key is shown; keep it as POSTFLIGHT_API_KEY in the secrets of your CI:", k.Name, k.Namespace)
	fmt.Fprintln(c.Console.Out, k.Key)
	return nil
}

// List prints the APIKeys of the namespace. There is no key in them to print.
func (c *Keys) List(ctx context.Context) error {
	var list v1alpha1.APIKeyList
	if err := c.Cluster.List(ctx, &list, client.InNamespace(c.Cluster.Namespace)); err != nil {
		return c.Cluster.explainError(err, "APIKeys")
	}
	if c.Console.JSON {
		return c.Console.WriteJSON(list.Items)
	}
	if len(list.Items) == 0 {
		c.Console.Note("There are no APIKeys in the namespace %s. Make one: postflight keys create ci -n %s", c.Cluster.Namespace, c.Cluster.Namespace)
		return nil
	}
	rows := [][]string{{"NAME", "STATE", "EXPIRES", "LAST USED", "AGE", "DESCRIPTION"}}
	for _, k := range list.Items {
		rows = append(rows, []string{k.Name, c.state(&k), when(k.Spec.ExpiresAt, "never"), c.ago(k.Status.LastUsedTime),
			age(k.CreationTimestamp.Time, c.Now()), k.Spec.Description})
	}
	return c.Console.Table(rows)
}

func (c *Keys) state(k *v1alpha1.APIKey) string {
	switch {
	case k.Spec.Suspended:
		return "suspended"
	case k.Spec.ExpiresAt != nil && !c.Now().Before(k.Spec.ExpiresAt.Time):
		return "expired"
	case meta.IsStatusConditionFalse(k.Status.Conditions, v1alpha1.ConditionReady):
		return "refused"
	default:
		return "active"
	}
}

func when(t *metav1.Time, otherwise string) string {
	if t == nil {
		return otherwise
	}
	return t.UTC().Format(time.DateOnly)
}

func (c *Keys) ago(t *metav1.Time) string {
	if t == nil {
		return "never"
	}
	return age(t.Time, c.Now()) + " ago"
}

// Revoke ends a key: for good by deleting it, or by suspending it, which can be taken back.
func (c *Keys) Revoke(ctx context.Context, name string, suspend bool) error {
	object := &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: c.Cluster.Namespace, Name: name}}
	var err error
	if suspend {
		err = c.Cluster.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspended":true}}`)))
	} else {
		err = c.Cluster.Delete(ctx, object)
	}
	if err != nil {
		return c.Cluster.explainError(err, fmt.Sprintf("APIKey %q", name))
	}
	if c.Console.JSON {
		return c.Console.WriteJSON(map[string]any{"name": name, "namespace": c.Cluster.Namespace, "revoked": true, "suspended": suspend})
	}
	c.Console.Note("The key %s is refused from now on.", name)
	return nil
}
