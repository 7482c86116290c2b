package cli

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Kube says which cluster to talk to, as kubectl's flags do.
type Kube struct {
	Kubeconfig, Context, Namespace string
}

// Cluster is a cluster and the namespace that commands are about.
type Cluster struct {
	client.Client
	Namespace string
	Pods      kubernetes.Interface // for logs; nil in tests that read none
	user      string               // in the kubeconfig
}

// Connect reads the kubeconfig.
func (k Kube) Connect() (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = k.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: k.Context}
	overrides.Context.Namespace = k.Namespace
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster to talk to: %w. Set KUBECONFIG or --kubeconfig", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: Scheme()})
	if err != nil {
		return nil, fmt.Errorf("the cluster at %s: %w", config.Host, err)
	}
	pods, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Cluster{Client: c, Namespace: namespace, Pods: pods, user: userOf(loader, k.Context)}, nil
}

// Scheme has the kinds that the commands know.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, batchv1.AddToScheme, authenticationv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // two kinds of one name: a mistake in this program
		}
	}
	return scheme
}

func userOf(loader clientcmd.ClientConfig, context string) string {
	raw, err := loader.RawConfig()
	if err != nil {
		return ""
	}
	if context == "" {
		context = raw.CurrentContext
	}
	if c := raw.Contexts[context]; c != nil {
		return c.AuthInfo
	}
	return ""
}

// who is the name under which the API server knows the user, or else that of the kubeconfig.
func (c *Cluster) who(ctx context.Context) string {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Create(ctx, review); err == nil && review.Status.UserInfo.Username != "" {
		return review.Status.UserInfo.Username
	}
	return c.user
}

// explainError says what to do about the errors of the API server that people meet.
func (c *Cluster) explainError(err error, what string) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no %s in the namespace %s. Name another one with --namespace", what, c.Namespace)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("you may not do that to %s in the namespace %s: ask for a role with these rights (%w)", what, c.Namespace, err)
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("%s exists already in the namespace %s: choose another name", what, c.Namespace)
	default:
		return fmt.Errorf("%s in the namespace %s: %w", what, c.Namespace, err)
	}
}
