package reconcile

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/report/announce"
)

// ReadSecret reads an uncached Secret, to which the team grants access. The problem is a sentence: why there is none.
func ReadSecret(
	ctx context.Context, live client.Reader, key client.ObjectKey, namedBy string,
) (data map[string][]byte, problem string, err error) {
	secret := &corev1.Secret{}
	err = live.Get(ctx, key, secret)
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Sprintf("The manager may not read the Secret %s. "+
			"Allow it with a RoleBinding to the ClusterRole postflight-credentials-reader, or to a Role that names the Secret.", key.Name), nil
	case apierrors.IsNotFound(err):
		return nil, fmt.Sprintf("The Secret %s, which %s names, does not exist. Create it.", key.Name, namedBy), nil
	case err != nil:
		return nil, "", fmt.Errorf("read the Secret that %s names: %w", namedBy, err)
	}
	return secret.Data, "", nil
}

// CodeHostCredentials reads the credentials of a team for a code host. The problem is a sentence: why there are none.
func CodeHostCredentials(
	ctx context.Context, live client.Reader, host v1alpha1.HostingService, key client.ObjectKey, namedBy string,
) (c report.Credentials, problem string, err error) {
	data, problem, err := ReadSecret(ctx, live, key, namedBy)
	if err != nil || problem != "" {
		return c, problem, err
	}
	c, missing := report.ParseSecret(host, data)
	if missing != "" {
		return c, fmt.Sprintf("The Secret %s cannot be used: %s.", key.Name, missing), nil
	}
	return c, "", nil
}

// MessageTarget reads where the messages to a receiver go. The problem is a sentence that says why nowhere.
func MessageTarget(
	ctx context.Context, live client.Reader, namespace string, to announce.Receiver,
) (t announce.Target, problem string, err error) {
	namedBy := "spec.webhooks of the Team"
	if to.Kind.Chat() {
		namedBy = "spec.notify of the Trigger"
	}
	data, problem, err := ReadSecret(ctx, live, client.ObjectKey{Namespace: namespace, Name: to.Secret}, namedBy)
	if err != nil || problem != "" {
		return t, problem, err
	}
	t, missing := announce.ParseSecret(to, data)
	if missing != "" {
		return t, fmt.Sprintf("The Secret %s cannot be used: %s.", to.Secret, missing), nil
	}
	return t, "", nil
}
