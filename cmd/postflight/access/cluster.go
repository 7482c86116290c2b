package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/cmd/postflight/credential"
	"github.com/postflight-dev/postflight/internal/core/deployment/triggerclass"
)

// Cluster is how commands reach the cluster, with the flags that kubectl has.
type Cluster struct {
	cli.Output
	Kubeconfig, Context, Namespace string

	Client client.Client
	Pods   kubernetes.Interface // for logs
	User   string               // in the kubeconfig
	Clock  clock.PassiveClock

	elsewhere string // a sentence after an error: how to ask the server

	sender *credential.Credential // as whom the server named the namespace; nil: it did not
	key    string                 // namespace/name of the sender's APIKey
}

func (c *Cluster) AddFlags(cmd *cobra.Command) {
	c.Output.AddFlags(cmd)
	c.addOwnFlags(cmd)
}

func (c *Cluster) addOwnFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&c.Namespace, "namespace", "n", "",
		"namespace; default: of the team of $POSTFLIGHT_URL and its key, or of the kubeconfig's context")
	f.StringVar(&c.Context, "context", "", "context of the kubeconfig")
	f.StringVar(&c.Kubeconfig, "kubeconfig", "", "path of the kubeconfig; default: $KUBECONFIG, or ~/.kube/config")
}

// Command returns the RunE of a command that talks to the cluster, by default about the team that runs would ask for.
func (c *Cluster) Command(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		connect := func() error {
			if err := c.chooseTeam(cmd, teamPatience); err != nil {
				return err
			}
			return c.Connect()
		}
		return connected(c.Open, connect, run)(cmd, args)
	}
}

// teamPatience is how long to retry while the server that knows the namespace of the team is unavailable. -n does without it.
const teamPatience = 10 * time.Second

// chooseTeam sets the namespace of the team of $POSTFLIGHT_URL and its credential, unless a flag names a place.
func (c *Cluster) chooseTeam(cmd *cobra.Command, patience time.Duration) error {
	if c.Namespace != "" || !serverNamed(cmd) {
		return nil
	}
	s := Server{Output: c.Output, patience: patience}
	who, err := s.whoAmI(cmd.Context())
	if err != nil {
		return fmt.Errorf("the namespace of your team is not known: %w. To name one, add -n NAMESPACE", err)
	}
	c.Namespace, c.sender, c.key = who.Namespace, s.Sender, who.Sender.Name
	return nil
}

// Offline is Command for what needs no cluster.
func (c *Cluster) Offline(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return connected(c.Open, func() error { c.Clock = clock.RealClock{}; return nil }, run)
}

var errNoKubeconfig = errors.New("there is no kubeconfig. Set KUBECONFIG or --kubeconfig")

// Connect reads the kubeconfig.
func (c *Cluster) Connect() error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.Context}
	overrides.Context.Namespace = c.Namespace
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return errNoKubeconfig
	}
	if err != nil {
		return fmt.Errorf("no cluster to talk to: %w. Set KUBECONFIG or --kubeconfig", err)
	}
	config.QPS = -1 // the API server's priority and fairness protects it better than a client can
	if c.Namespace, _, err = loader.Namespace(); err != nil {
		return err
	}
	if c.Client, err = client.New(config, client.Options{Scheme: NewScheme()}); err != nil {
		return fmt.Errorf("the cluster at %s: %w", config.Host, err)
	}
	if c.Pods, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	c.User, c.Clock = userOf(loader, c.Context), clock.RealClock{}
	return nil
}

// NewScheme has the kinds that the commands use.
func NewScheme() *runtime.Scheme {
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

// UserName is the user's name in the cluster, or else in the kubeconfig.
func (c *Cluster) UserName(ctx context.Context) string {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Client.Create(ctx, review); err == nil && review.Status.UserInfo.Username != "" {
		return review.Status.UserInfo.Username
	}
	return c.User
}

// Teams are the ids of the teams by namespace. Users without the right to list Teams get none.
func (c *Cluster) Teams(ctx context.Context) map[string]string {
	var list v1alpha1.TeamList
	_ = c.Client.List(ctx, &list) // without the right, the ids are not shown
	teams := map[string]string{}
	for _, t := range list.Items {
		teams[t.NamespaceName()] = t.Name
	}
	return teams
}

// WarnUnowned warns of what happens if not exactly one Team owns the namespace. Users without the right to list Teams get no warning.
func (c *Cluster) WarnUnowned(ctx context.Context, then string) {
	var list v1alpha1.TeamList
	if c.Client.List(ctx, &list) != nil {
		return
	}
	claimants := slices.DeleteFunc(list.Items, func(t v1alpha1.Team) bool { return t.NamespaceName() != c.Namespace })
	if _, why := v1alpha1.OwnerProblem(c.Namespace, claimants); why != "" {
		c.Console.Note("Warning: %s, so %s until exactly one Team owns it.", why, then)
	}
}

// Scope completes "There are none" with where the commands looked.
func (c *Cluster) Scope(all bool) string {
	if all {
		return "in any namespace"
	}
	return c.Place()
}

// Place completes a sentence with where a command acts.
func (c *Cluster) Place() string {
	if c.Context != "" {
		return fmt.Sprintf("in the namespace %s of the context %s", c.Namespace, c.Context)
	}
	return "in the namespace " + c.Namespace
}

// Get reads an object of the namespace.
func (c *Cluster) Get(ctx context.Context, kind, name string, into client.Object) error {
	return c.ExplainError(c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, into), fmt.Sprintf("%s %q", kind, name))
}

// List lists what the namespace has, or all namespaces do. what names it in errors.
func (c *Cluster) List(ctx context.Context, what string, all bool, into client.ObjectList) error {
	namespace := c.Namespace
	if all {
		namespace = ""
	}
	if err := c.Client.List(ctx, into, client.InNamespace(namespace)); err != nil {
		return c.ExplainError(err, what)
	}
	if meta.LenList(into) == 0 && !all {
		return c.checkNamespace(ctx)
	}
	return nil
}

// CompleteTrigger returns a Trigger merged over its TriggerClass.
func (c *Cluster) CompleteTrigger(ctx context.Context, t *v1alpha1.Trigger) (*v1alpha1.Trigger, error) {
	complete, problem, err := triggerclass.Complete(t, func(name string) (*v1alpha1.TriggerClass, error) {
		class := &v1alpha1.TriggerClass{}
		return class, c.Client.Get(ctx, client.ObjectKey{Name: name}, class)
	})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("you cannot read the TriggerClass %s: ask the operator of the cluster for the ClusterRole "+
			"postflight-triggerclass-viewer (%w)", t.Spec.TriggerClassName, err)
	case err != nil:
		return nil, err
	case problem != "":
		return nil, errors.New(problem)
	default:
		return complete, nil
	}
}

// AccountMay asks whether a service account has a right.
func (c *Cluster) AccountMay(ctx context.Context, namespace, account string, right authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: &right,
		User:               UserOfAccount(namespace, account),
		Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}}
	err := c.Client.Create(ctx, review)
	return review.Status.Allowed, err
}

// UserOfAccount is how the API server calls a service account.
func UserOfAccount(namespace, account string) string {
	return "system:serviceaccount:" + namespace + ":" + account
}

// checkNamespace returns an error if the namespace does not exist. It is for empty lists: the API server lists
// nothing in a namespace that does not exist. Users without the right to read the namespace get no error.
func (c *Cluster) checkNamespace(ctx context.Context) error {
	err := c.Client.Get(ctx, client.ObjectKey{Name: c.Namespace}, &corev1.Namespace{})
	if apierrors.IsNotFound(err) {
		return c.ExplainError(err, "")
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

// ExplainError says what to do about an error of the API server.
func (c *Cluster) ExplainError(err error, what string) error {
	switch {
	case err == nil:
		return nil
	case missingNamespace(err):
		return fmt.Errorf("the namespace %s does not exist. Name another namespace with --namespace", c.Namespace)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no %s in the namespace %s. Check the name, or name another namespace with --namespace%s", what, c.Namespace,
			c.elsewhere)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("you have no right to do this with %s in the namespace %s: ask for a role that has it (%w)", what, c.Namespace, err)
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("%s already exists in the namespace %s: choose another name", what, c.Namespace)
	default:
		return fmt.Errorf("%s in the namespace %s: %w", what, c.Namespace, err)
	}
}
