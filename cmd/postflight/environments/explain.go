package environments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
)

type ExplainOptions struct {
	access.Cluster
	File    string
	Manager string // its account, as namespace/name

	In io.Reader
}

// NewExplain returns the command that belongs to "explain".
func NewExplain() *cobra.Command {
	o := &ExplainOptions{}
	cmd := cli.WithTroubleExit(&cobra.Command{
		Use:     "environment (NAME | -f FILE)",
		Aliases: []string{"env"},
		Short:   "Show what is read from the workloads of an Environment, and what a rollout would start",
		Long: `Shows what the manager reads from the workloads that an Environment names: each object with how far its rollout is, where the
commit, the branch and the deployment type are read and what is there, which Triggers of the Environment would match, why the others do not,
and what is wrong with what to do. It changes nothing.

With -f, it tries an Environment that is not applied yet.

It reads with your rights in the cluster of the kubeconfig. If you may ask (SubjectAccessReview), it also says which rights the manager
lacks; otherwise, the Environment's status does.

Exit codes: 0 nothing is wrong, 1 there is a problem, 3 it could not be found out.`,
		Example: `  postflight explain environment staging -n shop

  # Before it is applied
  postflight explain environment -f environment.yaml -n shop

  # Which commit would be read from the Deployment?
  postflight explain environment staging -o json | jq -r '.workloads[].objects[].values[] | select(.field == "sha").value'`,
		Args: cobra.MaximumNArgs(1),
		RunE: o.Command(func(ctx context.Context, args []string) error {
			o.In = os.Stdin
			return o.Run(ctx, args)
		}),
	})
	cmd.Flags().StringVarP(&o.File, "filename", "f", "", "file with an Environment that need not exist yet; - reads standard input")
	cmd.Flags().StringVar(&o.Manager, "manager", "postflight-system/postflight-manager",
		"service account of the manager, whose rights are checked")
	cmd.ValidArgsFunction = access.First(o.Complete(access.Environments))
	o.AddFlags(cmd)
	return cmd
}

func (o *ExplainOptions) Run(ctx context.Context, args []string) error {
	e, err := o.environment(ctx, args)
	if err != nil {
		return cli.ExitTroubleError(err)
	}
	observed, notes, err := o.observe(ctx, e)
	if err != nil {
		return cli.ExitTroubleError(err)
	}
	triggers := &v1alpha1.TriggerList{}
	if err := o.Client.List(ctx, triggers, crclient.InNamespace(e.Namespace)); err != nil {
		return cli.ExitTroubleError(o.ExplainError(err, "Triggers"))
	}
	var all []*v1alpha1.Trigger
	for i := range triggers.Items {
		all = append(all, &triggers.Items[i])
	}
	x := workloads.Explain(observed, all, o.others(ctx, e))
	x.Notes = append(x.Notes, notes...)
	x.Problems = append(x.Problems, o.lackingRights(ctx, observed)...)
	if err := o.Console.Result(x, func() error { return o.print(x) }); err != nil {
		return err
	}
	if len(x.Problems) > 0 {
		return cli.Exitf(cli.ExitFailed, "the Environment has problems, which are above")
	}
	return nil
}

// environment is the one of the file, with the status that the cluster has of it.
func (o *ExplainOptions) environment(ctx context.Context, args []string) (*v1alpha1.Environment, error) {
	if (o.File == "") == (len(args) == 0) {
		return nil, errors.New("name the Environment, or with -f a file that has one")
	}
	if o.File == "" {
		return o.stored(ctx, args[0])
	}
	e, err := o.read()
	if err != nil {
		return nil, err
	}
	e.Namespace = cmp.Or(e.Namespace, o.Namespace)
	o.Namespace = e.Namespace
	if stored, err := o.stored(ctx, e.Name); err == nil {
		e.Status, e.UID = stored.Status, stored.UID
	}
	return e, nil
}

func (o *ExplainOptions) stored(ctx context.Context, name string) (*v1alpha1.Environment, error) {
	e := &v1alpha1.Environment{}
	return e, o.Get(ctx, "Environment", name, e)
}

// maxFile is as much as etcd stores of an object, in bytes.
const maxFile = 1536 << 10

func (o *ExplainOptions) read() (*v1alpha1.Environment, error) {
	file, err := cli.OpenFile(o.File, o.In)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return nil, err
	}
	e := &v1alpha1.Environment{}
	if err := yaml.UnmarshalStrict(content, e); err != nil {
		return nil, fmt.Errorf("%s is no Environment: %w", o.File, err)
	}
	if e.Kind != "Environment" || e.APIVersion != v1alpha1.GroupVersion.String() || e.Name == "" {
		return nil, fmt.Errorf("%s is no Environment of %s with a name. It must hold one object", o.File, v1alpha1.GroupVersion)
	}
	return e, nil
}

// others are the Environments that may name the same workloads: of all namespaces, if you may list them.
func (o *ExplainOptions) others(ctx context.Context, e *v1alpha1.Environment) []v1alpha1.Environment {
	list := &v1alpha1.EnvironmentList{}
	if err := o.Client.List(ctx, list); err != nil {
		_ = o.Client.List(ctx, list, crclient.InNamespace(e.Namespace)) // without the right, none are named
	}
	return list.Items
}

func (o *ExplainOptions) print(x workloads.Explained) error {
	if err := o.Console.Table(explainedRows(x)); err != nil {
		return err
	}
	for _, note := range x.Notes {
		o.Console.Note("Note: %s", note)
	}
	for _, p := range x.Problems {
		o.Console.Note("Problem: %s", p.Message)
		if p.Do != "" {
			o.Console.Note("         → %s", p.Do)
		}
	}
	return nil
}

func explainedRows(x workloads.Explained) (rows [][]string) {
	rows = append(rows, []string{"Environment:", x.Namespace + "/" + x.Environment})
	for _, w := range x.Workloads {
		rows = append(rows, []string{""}, []string{"Workload:", w.Workload + repositoryOf(commit.PartOf(w.Repository, w.Service))})
		if len(w.Objects) == 0 {
			rows = append(rows, []string{"", "nothing is read: see the problems"})
		}
		for _, object := range w.Objects {
			rows = append(rows, objectRows(object)...)
		}
	}
	for _, r := range x.Repositories {
		rows = append(rows, repositoryRows(r)...)
	}
	return rows
}

func repositoryOf(p commit.Part) string {
	if p == (commit.Part{}) {
		return ""
	}
	return ", with the code of " + p.String()
}

func objectRows(o workloads.ExplainedObject) [][]string {
	state := "rolled out"
	if !o.Ready {
		state = cmp.Or(o.Message, "not rolled out")
	}
	rows := [][]string{{"Object:", o.Kind + " " + o.Namespace + "/" + o.Name}, {"Rollout:", state}, {"Revision:", o.Revision}}
	for _, v := range o.Values {
		rows = append(rows, []string{map[string]string{"sha": "Commit:", "branch": "Branch:", "deploymentType": "Type:"}[v.Field],
			cmp.Or(v.Value, "none") + ", from " + v.Where + withProblem(v.Problem)})
	}
	for _, d := range o.Digests {
		rows = append(rows, []string{"Image:", d.Container + " runs " + d.Digest})
	}
	return cli.WithValue(rows)
}

func withProblem(problem string) string {
	if problem == "" {
		return ""
	}
	return ". " + problem
}

func repositoryRows(r workloads.ExplainedRepository) [][]string {
	name := cmp.Or(r.Repository, "not named")
	rows := cli.WithValue([][]string{
		{"Repository:", name}, {"Service:", r.Service}, {"Commit:", r.SHA}, {"Branch:", r.Branch},
		{"Type:", r.DeploymentType}, {"Starts:", r.Message},
	})
	rows = slices.Insert(rows, 0, []string{""})
	if r.SHA != "" && len(r.Triggers) == 0 {
		rows = append(rows, []string{"Triggers:", "none names this Environment"})
	}
	for _, t := range r.Triggers {
		does := "matches"
		if !t.Matched {
			does = "does not match"
		}
		rows = append(rows, []string{"Trigger:", t.Trigger + " " + does})
		for _, c := range t.Conditions {
			if !c.Held {
				rows = append(rows, []string{"", c.Name + ": " + c.Message})
			}
		}
	}
	return rows
}
