package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// readSecret reads a Secret, which is not cached. The manager has no right to: the team grants it. The problem is a
// sentence that says why there is none, and namedBy the field that names it.
func readSecret(ctx context.Context, live client.Reader, key client.ObjectKey, namedBy string) (data map[string][]byte, problem string, err error) {
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
