package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Execute runs a command line of the program with this root, and returns the exit code. A mistake on the command line must not look
// like a failed run.
func Execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SilenceUsage, root.SilenceErrors = true, true // the error is printed here
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w%s\nSee '%s --help'", err, didYouMean(nearFlags(cmd, err)), cmd.CommandPath())
	})
	root.InitDefaultCompletionCmd(args...)
	wrapCommands(root)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(root.ErrOrStderr(), "Error:", ErrorText(err))
	var exit *ExitError
	errors.As(ExitTroubleError(err), &exit)
	return exit.Code
}

// wrapCommands gives the errors of a command, and of all below it, an exit code: an error without one comes
// from reading the command line. Groups refuse arguments, and print their help. Wrong arguments are answered with the usage.
func wrapCommands(cmd *cobra.Command) {
	addSynonyms(cmd)
	if !cmd.Runnable() && cmd.HasParent() {
		cmd.Args, cmd.RunE = noArguments, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			return withExitCode(ExitFailed, Interrupted(cmd.Context(), run(cmd, args), ""))
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
		err := check(cmd, args)
		if err == nil {
			err = emptyName(cmd, args)
		}
		if err != nil {
			return fmt.Errorf("%w\nUsage: %s\nSee '%s --help'", err, cmd.UseLine(), cmd.CommandPath())
		}
		return nil
	}
}

// emptyName refuses an empty argument where the usage has a name: the server would take it for another path.
func emptyName(cmd *cobra.Command, args []string) error {
	placeholders := strings.Fields(cmd.Use)[1:]
	for i, arg := range args {
		if i >= len(placeholders) || strings.TrimLeft(placeholders[i], "[(-") != placeholders[i] {
			return nil
		}
		placeholder, repeated := strings.CutSuffix(placeholders[i], "...")
		if repeated {
			placeholders = append(placeholders, placeholders[i])
		}
		if strings.TrimSpace(arg) != "" {
			continue
		}
		noun := strings.ToLower(placeholder)
		if placeholder == "NAME" {
			noun = strings.TrimSuffix(cmd.Parent().Name(), "s")
		}
		return fmt.Errorf("no %s is named: %s is empty. If it came from another command, see the error of that command", noun, placeholder)
	}
	return nil
}

// noArguments refuses the arguments of a group, as cobra does for the root.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), didYouMean(nearCommands(cmd, args[0])))
}

// Group returns a command that only has other commands.
func Group(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(commands...)
	return cmd
}

func AnyChanged(cmd *cobra.Command, flags ...string) bool {
	return slices.ContainsFunc(flags, cmd.Flags().Changed)
}

// OpenFile opens what -f names: a file, or standard input.
func OpenFile(name string, stdin io.Reader) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(stdin), nil
	}
	return os.Open(name)
}

// Collect returns at most limit items of a sequence, or all if that is 0, and whether there are more. The list is never nil, which
// would be null in JSON.
func Collect[T any](all iter.Seq2[T, error], limit int) (list []T, more bool, err error) {
	list = []T{}
	for item, err := range all {
		if err != nil {
			return list, false, err
		}
		if limit > 0 && len(list) == limit {
			return list, true, nil
		}
		list = append(list, item)
	}
	return list, false, nil
}
