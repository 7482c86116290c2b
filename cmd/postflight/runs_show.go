package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

type runsShowOptions struct{ cluster }

func newRunsShow() *cobra.Command {
	o := &runsShowOptions{}
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run, and why it ended as it did",
		Long: `Shows a run with its variables and input files. Variables whose names look like those of secrets are masked,
except with -o json.`,
		Example: "  postflight runs show smoke-3f9c2k7q5x0a1b2c -n acme",
		Args:    cobra.ExactArgs(1),
		RunE:    o.command(func(ctx context.Context, args []string) error { return o.run(ctx, args[0]) }),
	}
	o.addFlags(cmd)
	return cmd
}

func (o *runsShowOptions) run(ctx context.Context, name string) error {
	s, err := o.getRun(ctx, name)
	if err != nil {
		return err
	}
	return o.console.result(s, func() error { return o.console.table(o.rows(s)) })
}

func (o *runsShowOptions) rows(s *v1alpha1.Suite) [][]string {
	d := s.Spec.Deployment
	rows := [][]string{{"Run:", s.Name}, {"State:", stateOf(s)}, {"Why:", messageOf(s)}, {"Trigger:", s.Spec.Trigger.Name},
		{"Environment:", s.Spec.Environment}, {"Branch:", d.Branch}, {"Commit:", d.SHA}, {"Repository:", d.Repository},
		{"Type:", d.Type}, {"URL:", d.URL}, {"Attempt:", fmt.Sprint(max(s.Spec.Attempt, 1))}, {"Superseded by:", s.Status.SupersededBy},
		{"Received:", s.Received().UTC().Format(time.RFC3339)}, {"Took:", o.took(s)}}
	if d.PullRequestNumber > 0 {
		rows = append(rows, []string{"Pull request:", fmt.Sprint(d.PullRequestNumber)})
	}
	for _, variable := range slices.Sorted(maps.Keys(s.Spec.Variables)) {
		rows = append(rows, []string{"Variable:", variable + "=" + masked(variable, s.Spec.Variables[variable])})
	}
	for _, input := range s.Status.Inputs {
		rows = append(rows, []string{"Input:", fmt.Sprintf("%s (%s)", input.Path, humanize.Bytes(uint64(max(input.Size, 0))))})
	}
	return slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" })
}

var secretName = regexp.MustCompile(`(?i)TOKEN|SECRET|PASSWORD|KEY|CREDENTIAL`)

func masked(name, value string) string {
	if secretName.MatchString(name) {
		return "***"
	}
	return value
}
