package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// nearness is the distance of words up to which one is suggested for the other, in letters that differ. Cobra sets it for the root.
const nearness = 2

// commandSynonyms are words of other programs for our commands.
var commandSynonyms = map[string][]string{
	"artifacts": {"files"}, "cancel": {"abort", "kill", "stop"}, "create": {"add", "make", "new"}, "debug": {"exec", "shell"},
	"doctor": {"check", "diagnose"}, "history": {"log"}, "hold": {"freeze", "lock", "pause"}, "list": {"get", "ps"}, "logs": {"log", "tail"},
	"notify": {"deploy", "report", "send"}, "rerun": {"repeat", "restart", "retry"}, "results": {"report", "tests"},
	"revoke": {"delete", "remove", "rm"}, "rotate": {"renew"}, "runs": {"builds", "suite", "suites"},
	"show": {"describe", "get", "inspect", "status", "view"}, "since": {"bisect", "blame"}, "wait": {"watch"}, "whoami": {"auth"},
}

// flagSynonyms are words of other programs for our flags.
var flagSynonyms = map[string][]string{
	"all-namespaces": {"all"}, "branch": {"ref"}, "filename": {"file"}, "namespace": {"ns"}, "output": {"format"},
	"sha": {"commit", "revision"}, "state": {"status"}, "tail": {"lines"}, "team": {"project"}, "type": {"deployment-type"},
}

// addSynonyms lets Cobra suggest a command to people who know other programs, and a group to those who leave out its name.
func addSynonyms(cmd *cobra.Command) {
	cmd.SuggestFor = append(cmd.SuggestFor, commandSynonyms[cmd.Name()]...)
	if !cmd.HasParent() || cmd.Parent().HasParent() {
		return
	}
	for _, child := range cmd.Commands() {
		cmd.SuggestFor = append(append(cmd.SuggestFor, child.Name()), commandSynonyms[child.Name()]...)
	}
}

func didYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return "\n\nDid you mean this?\n\t" + strings.Join(near, "\n\t")
}

// nearCommands returns the commands of a group that may be meant by a word.
func nearCommands(group *cobra.Command, word string) []string {
	group.SuggestionsMinimumDistance = nearness
	return slices.Compact(group.SuggestionsFor(word))
}

// nearFlags returns the flags of a command that an unknown flag may mean.
func nearFlags(cmd *cobra.Command, err error) []string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || len(unknown.GetSpecifiedName()) < 2 {
		return nil
	}
	name := unknown.GetSpecifiedName()
	if slices.Contains(formats, name) && cmd.Flags().Lookup("output") != nil {
		return []string{"-o " + name}
	}
	flags := &cobra.Command{SuggestionsMinimumDistance: nearness}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		flags.AddCommand(&cobra.Command{Use: f.Name, SuggestFor: flagSynonyms[f.Name], Run: func(*cobra.Command, []string) {}})
	})
	near := slices.Compact(flags.SuggestionsFor(name))
	for i := range near {
		near[i] = "--" + near[i]
	}
	if version, _, err := cmd.Find([]string{name}); err == nil && version != cmd && len(near) == 0 {
		near = []string{version.CommandPath()}
	}
	return near
}
