package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/internal/cli"
)

// newRoot has every command; each is in a file of its own.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "postflight",
		Short: "Postflight: run tests after a deployment",
		Long: `Tells Postflight what was deployed, waits for the runs that follow, and looks at them.

notify, wait, upload and explain talk to the server of $POSTFLIGHT_URL with the key of
$POSTFLIGHT_API_KEY, or of the file $POSTFLIGHT_API_KEY_FILE, as CI does. keys and runs talk to the
cluster of the kubeconfig, as kubectl does; named kubectl-postflight, the program is a plugin of kubectl.`,
		Example: `  export POSTFLIGHT_URL=https://postflight.example.com POSTFLIGHT_API_KEY=pf_...
  postflight notify --branch main --type staging --wait`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: programName()},
		SilenceUsage:  true,
		SilenceErrors: true, // execute prints them
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w\nSee '%s --help'", err, cmd.CommandPath())
	})
	root.AddCommand(newNotify(), newWait(), newExplain(), newUpload(), newKeys(), newRuns(), newVersion(), newFetch())
	return root
}

// programName is what a person typed: kubectl calls its plugins by another name.
func programName() string {
	if strings.HasPrefix(filepath.Base(os.Args[0]), "kubectl-") {
		return "kubectl postflight"
	}
	return "postflight"
}

// finish prepares a command and all below it for being run: what is no mistake of whoever typed the
// command is marked as such, and groups do not take what they do not know for a question.
func finish(cmd *cobra.Command) {
	if !cmd.Runnable() && cmd.HasParent() {
		cmd.Args, cmd.RunE = known, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			return cli.Ending(cli.ExitFailed, cli.Interrupted(cmd.Context(), run(cmd, args), ""))
		}
	}
	for _, child := range cmd.Commands() {
		finish(child)
	}
}

// known is for the arguments of a group, which are none: as cobra does it for the root.
func known(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += "\n\nDid you mean this?\n\t" + strings.Join(near, "\n\t")
	}
	return errors.New(text)
}

// execute runs a command and returns the exit code. An error of no code did not come from a command,
// but from reading the command line: it must not look like a run that failed.
func execute(ctx context.Context, args []string) int {
	root := newRoot()
	root.InitDefaultCompletionCmd(args...)
	finish(root)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(root.ErrOrStderr(), "Error:", cli.ErrorText(err))
	var exit *cli.Exit
	errors.As(cli.Trouble(err), &exit)
	return exit.Code
}
