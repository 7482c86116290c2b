package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// cluster is how commands reach the cluster, with the flags that kubectl has.
type cluster struct {
	output
	kubeconfig, context, namespace string

	client client.Client
	pods   kubernetes.Interface // for logs
	user   string               // in the kubeconfig
	clock  clock.PassiveClock
}

func (c *cluster) addFlags(cmd *cobra.Command) {
	c.output.addFlags(cmd)
	c.addOwnFlags(cmd)
}

func (c *cluster) addOwnFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&c.namespace, "namespace", "n", "", "namespace of the team; default: that of the kubeconfig's context")
	f.StringVar(&c.context, "context", "", "context of the kubeconfig")
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "path of the kubeconfig; default: $KUBECONFIG, or ~/.kube/config")
}

// command returns the RunE of a command that talks to the cluster.
func (c *cluster) command(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := c.open(cmd); err != nil {
			return err
		}
		if err := c.connect(); err != nil {
			return err
		}
		return run(cmd.Context(), args)
	}
}

var errNoKubeconfig = errors.New("there is no kubeconfig. Set KUBECONFIG or --kubeconfig")

// connect reads the kubeconfig.
func (c *cluster) connect() error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.context}
	overrides.Context.Namespace = c.namespace
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return errNoKubeconfig
	}
	if err != nil {
		return fmt.Errorf("no cluster to talk to: %w. Set KUBECONFIG or --kubeconfig", err)
	}
	config.QPS = -1 // the API server's priority and fairness protects it better than a client can
	if c.namespace, _, err = loader.Namespace(); err != nil {
		return err
	}
	if c.client, err = client.New(config, client.Options{Scheme: newScheme()}); err != nil {
		return fmt.Errorf("the cluster at %s: %w", config.Host, err)
	}
	if c.pods, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	c.user, c.clock = userOf(loader, c.context), clock.RealClock{}
	return nil
}

// newScheme has the kinds that the commands use.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	add := runtime.NewSchemeBuilder(corev1.AddToScheme, batchv1.AddToScheme, authenticationv1.AddToScheme, v1alpha1.AddToScheme,
		appsv1.AddToScheme, authorizationv1.AddToScheme, coordinationv1.AddToScheme, apiextensions.AddToScheme, admissionv1.AddToScheme)
	utilruntime.Must(add.AddToScheme(scheme))
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

// userName is the user's name in the cluster, or else in the kubeconfig.
func (c *cluster) userName(ctx context.Context) string {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.client.Create(ctx, review); err == nil && review.Status.UserInfo.Username != "" {
		return review.Status.UserInfo.Username
	}
	return c.user
}

// checkNamespace returns an error if the namespace does not exist. It is for empty lists: the API server lists
// nothing in a namespace that does not exist. Users who may not read the namespace get no error.
func (c *cluster) checkNamespace(ctx context.Context) error {
	err := c.client.Get(ctx, client.ObjectKey{Name: c.namespace}, &corev1.Namespace{})
	if apierrors.IsNotFound(err) {
		return c.explainError(err, "")
	}
	return nil
}

func missingNamespace(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces"
}

// explainError says what to do about an error of the API server.
func (c *cluster) explainError(err error, what string) error {
	switch {
	case err == nil:
		return nil
	case missingNamespace(err):
		return fmt.Errorf("the namespace %s does not exist. Name another namespace with --namespace", c.namespace)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no %s in the namespace %s. Check the name, or name another namespace with --namespace", what, c.namespace)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("you may not do that to %s in the namespace %s: ask for a role with these rights (%w)", what, c.namespace, err)
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("%s already exists in the namespace %s: choose another name", what, c.namespace)
	default:
		return fmt.Errorf("%s in the namespace %s: %w", what, c.namespace, err)
	}
}
