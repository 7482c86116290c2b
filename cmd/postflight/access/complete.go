package access

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/core/record"
)

const (
	completionTimeout = 2 * time.Second // a person waits for it with every key
	maxCompletions    = 50
)

// Names are what a shell offers of a kind, in this order. One of the two ways is nil.
type Names func(ctx context.Context, s *client.Client, c *Cluster) ([]cobra.Completion, error)

// Runs offers the newest runs.
func Runs(ctx context.Context, s *client.Client, c *Cluster) (names []cobra.Completion, err error) {
	var newest []client.Run
	if s != nil {
		newest, err = newestRuns(ctx, s, maxCompletions)
	} else {
		var list v1alpha1.SuiteList
		err = c.Client.List(ctx, &list, crclient.InNamespace(c.Namespace))
		for i := range list.Items {
			newest = append(newest, record.RunOf("", &list.Items[i]))
		}
		slices.SortFunc(newest, func(a, b client.Run) int { return b.CreatedAt.Compare(a.CreatedAt) })
	}
	for _, r := range newest[:min(len(newest), maxCompletions)] {
		about := strings.TrimSpace(strings.Join([]string{cli.StateOf(&r), r.Environment, r.Branch, cli.ShortSHA(r.SHA)}, " "))
		names = append(names, cobra.CompletionWithDesc(cli.Clean(r.ID), cli.Clean(about)))
	}
	return names, err
}

// newestRuns asks for one more, which shows that there are more without another page.
func newestRuns(ctx context.Context, s *client.Client, count int) ([]client.Run, error) {
	newest, _, err := cli.Collect(s.Runs(ctx, client.RunFilter{PageSize: count + 1}), count)
	return newest, err
}

// Environments offers the Environments of the team.
func Environments(ctx context.Context, s *client.Client, c *Cluster) ([]cobra.Completion, error) {
	if s == nil {
		return c.names(ctx, &v1alpha1.EnvironmentList{})
	}
	all, _, err := cli.Collect(s.Environments(ctx), 0)
	var names []cobra.Completion
	for _, e := range all {
		names = append(names, cli.Clean(e.Name))
	}
	return names, err
}

// Triggers offers the Triggers of the team. The server does not list them, so through it, the newest runs name them.
func Triggers(ctx context.Context, s *client.Client, c *Cluster) ([]cobra.Completion, error) {
	if s == nil {
		return c.names(ctx, &v1alpha1.TriggerList{})
	}
	newest, err := newestRuns(ctx, s, 2*maxCompletions-1)
	var names []cobra.Completion
	for _, r := range newest {
		names = append(names, cli.Clean(r.Trigger))
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// APIKeys offers the keys of the namespace. The server does not list them.
func APIKeys(ctx context.Context, _ *client.Client, c *Cluster) ([]cobra.Completion, error) {
	return c.names(ctx, &v1alpha1.APIKeyList{})
}

func (c *Cluster) names(ctx context.Context, list crclient.ObjectList) (names []cobra.Completion, err error) {
	if err := c.Client.List(ctx, list, crclient.InNamespace(c.Namespace)); err != nil {
		return nil, err
	}
	objects, err := meta.ExtractList(list)
	for _, o := range objects {
		names = append(names, o.(crclient.Object).GetName())
	}
	return names, err
}

// Complete returns what a shell offers for an argument or a flag of a command.
func (w *Way) Complete(names Names) cobra.CompletionFunc {
	return complete(func(cmd *cobra.Command, quiet cli.Output) (*client.Client, *Cluster, error) {
		w.Server.patience = 0
		byServer, err := w.connect(cmd, quiet)
		if err != nil || byServer {
			return w.Server.Client, nil, err
		}
		return nil, &w.Cluster, nil
	}, names)
}

// Complete returns what a shell offers, for a command that talks to the cluster.
func (c *Cluster) Complete(names Names) cobra.CompletionFunc {
	return complete(func(cmd *cobra.Command, quiet cli.Output) (*client.Client, *Cluster, error) {
		c.Output = quiet
		if err := c.chooseTeam(cmd, 0); err != nil {
			return nil, nil, err
		}
		return nil, c, c.Connect()
	}, names)
}

// Complete returns what a shell offers, for a command that talks to the server.
func (s *Server) Complete(names Names) cobra.CompletionFunc {
	return complete(func(_ *cobra.Command, quiet cli.Output) (*client.Client, *Cluster, error) {
		s.Output, s.patience = quiet, 0
		err := s.Connect()
		return s.Client, nil, err
	}, names)
}

// First offers only the first argument of a command.
func First(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return cobra.NoFileCompletions(cmd, args, typed)
		}
		return complete(cmd, args, typed)
	}
}

// complete offers nothing after an error, and prints nothing: the person is writing a command. It does not wait for what takes no context,
// such as the discovery of an API server.
func complete(
	connect func(*cobra.Command, cli.Output) (*client.Client, *Cluster, error), find Names,
) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		found := make(chan []cobra.Completion, 1)
		go func() {
			s, c, err := connect(cmd, cli.Output{Console: &cli.Console{Out: io.Discard, Err: io.Discard}})
			if err != nil {
				found <- nil
				return
			}
			names, _ := find(ctx, s, c)
			found <- names
		}()
		var names []cobra.Completion
		select {
		case <-ctx.Done():
		case names = <-found:
		}
		names = slices.DeleteFunc(names, func(name cobra.Completion) bool {
			id, _, _ := strings.Cut(name, "\t")
			return slices.Contains(args, id)
		})
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}
