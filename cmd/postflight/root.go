package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/cmd/postflight/debug"
	"github.com/postflight-dev/postflight/cmd/postflight/doctor"
	"github.com/postflight-dev/postflight/cmd/postflight/environments"
	"github.com/postflight-dev/postflight/cmd/postflight/gate"
	"github.com/postflight-dev/postflight/cmd/postflight/hold"
	"github.com/postflight-dev/postflight/cmd/postflight/keys"
	"github.com/postflight-dev/postflight/cmd/postflight/replay"
	"github.com/postflight-dev/postflight/cmd/postflight/runs"
	"github.com/postflight-dev/postflight/cmd/postflight/tests"
	"github.com/postflight-dev/postflight/cmd/postflight/triggers"
	"github.com/postflight-dev/postflight/cmd/postflight/upload"
	"github.com/postflight-dev/postflight/cmd/postflight/whoami"
)

// newRoot returns the program with all its commands, each of which has a file of its own.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "postflight",
		Short: "Postflight: run tests after a deployment",
		Long: `Tells Postflight what was deployed, waits for the runs that follow, and looks at them.

notify, wait, upload, explain, replay, tests, since and whoami talk to the server of $POSTFLIGHT_URL, as CI does, with a token of the CI
job or of the pod, or with the API key of $POSTFLIGHT_API_KEY or of the file $POSTFLIGHT_API_KEY_FILE; "postflight whoami --help" says
which of them. keys, triggers, hold, debug and doctor talk to the cluster of the kubeconfig, as kubectl does, and so does explain
environment. runs and environments talk to the server if $POSTFLIGHT_URL is set, and to the cluster otherwise.
Named kubectl-postflight, the program is a plugin of kubectl.`,
		Example: `  export POSTFLIGHT_URL=https://postflight.example.com POSTFLIGHT_API_KEY=pf_...
  postflight notify --branch main --type staging --wait`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: programName()},
		SilenceUsage:  true,
		SilenceErrors: true, // execute prints them
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w\nSee '%s --help'", err, cmd.CommandPath())
	})
	explain := gate.NewExplain()
	explain.AddCommand(environments.NewExplain())
	root.AddCommand(
		gate.NewNotify(), gate.NewWait(), explain, replay.New(), upload.New(), keys.New(), runs.New(), tests.New(), tests.NewSince(),
		environments.New(), triggers.New(), hold.New(), debug.New(), doctor.New(), whoami.New(), newVersion(),
	)
	return root
}

// programName is the name that people type: kubectl calls its plugins by another one.
func programName() string {
	if strings.HasPrefix(filepath.Base(os.Args[0]), "kubectl-") {
		return "kubectl postflight"
	}
	return "postflight"
}

// wrapCommands gives the errors of a command, and of all below it, an exit code: an error without one comes
// from reading the command line. Groups refuse arguments, and print their help. Wrong arguments are answered with the usage.
func wrapCommands(cmd *cobra.Command) {
	if !cmd.Runnable() && cmd.HasParent() {
		cmd.Args, cmd.RunE = noArguments, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			return cli.WithExitCode(cli.ExitFailed, cli.Interrupted(cmd.Context(), run(cmd, args), ""))
		}
	}
	if cmd.Args != nil && !cmd.HasSubCommands() {
		cmd.Args = withUsage(cmd.Args)
	}
	for _, child := range cmd.Commands() {
		wrapCommands(child)
	}
}

// withUsage adds to the error of wrong arguments what to write instead.
func withUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return fmt.Errorf("%w\nUsage: %s\nSee '%s --help'", err, cmd.UseLine(), cmd.CommandPath())
		}
		return nil
	}
}

// noArguments refuses the arguments of a group, as cobra does for the root.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2 // what cobra sets for the root
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += "\n\nDid you mean this?\n\t" + strings.Join(near, "\n\t")
	}
	return errors.New(text)
}

// execute runs a command and returns the exit code. A mistake on the command line must not look like a failed
// run.
func execute(ctx context.Context, args []string) int {
	return executeRoot(ctx, newRoot(), args)
}

func executeRoot(ctx context.Context, root *cobra.Command, args []string) int {
	root.InitDefaultCompletionCmd(args...)
	wrapCommands(root)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(root.ErrOrStderr(), "Error:", cli.ErrorText(err))
	var exit *cli.ExitError
	errors.As(cli.ExitTroubleError(err), &exit)
	return exit.Code
}
