package github

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// maker is what made a deployment, by its names as GitHub sends them. Without GitHub Actions, only the task is known.
type maker struct {
	workflow string // its name
	files    []string
	job      string
	task     string
}

func (p payload) maker() maker {
	m := maker{job: p.CheckRun.Name, task: p.Deployment.Task}
	if run := p.WorkflowRun; run != nil {
		file, _, _ := strings.Cut(run.Path, "@")
		m.workflow, m.files = run.Name, []string{path.Base(file), file}
	}
	return m
}

// shown has the names for people and for expressions, as short lines.
func (m maker) shown() maker {
	for _, name := range []*string{&m.workflow, &m.job, &m.task} {
		*name = plaintext.Line(*name, notification.MaxTextBytes)
	}
	return m
}

func (m maker) String() string {
	m = m.shown()
	text := "A deployment of no job"
	switch {
	case m.job != "" && m.workflow != "":
		text = fmt.Sprintf("The job %q of the workflow %q", m.job, m.workflow)
	case m.job != "":
		text = fmt.Sprintf("The job %q", m.job)
	case m.workflow != "":
		text = fmt.Sprintf("A deployment of the workflow %q", m.workflow)
	}
	return fmt.Sprintf("%s, with the task %q,", text, m.task)
}

// leftOut returns why the deployment does not count, as a sentence, or "".
func (p payload) leftOut(d *v1alpha1.EventDeployments) string {
	if d == nil {
		return ""
	}
	m := p.maker()
	exclude := v1alpha1.DeploymentMakers{}
	if d.Exclude != nil {
		exclude = *d.Exclude
	}
	for _, list := range []struct {
		field              string
		included, excluded []string
		names              []string
	}{
		{"workflows", d.Workflows, exclude.Workflows, append([]string{m.workflow}, m.files...)},
		{"jobs", d.Jobs, exclude.Jobs, []string{m.job}},
		{"tasks", d.Tasks, exclude.Tasks, []string{m.task}},
	} {
		if len(list.included) > 0 && !lists(list.included, list.names) {
			return fmt.Sprintf("%s is left out by spec.deployments.%s of the EventSource.", m, list.field)
		}
		if lists(list.excluded, list.names) {
			return fmt.Sprintf("%s is left out by spec.deployments.exclude.%s of the EventSource.", m, list.field)
		}
	}
	return ""
}

// lists reports whether an entry is one of the names, or ends in "*" and is the beginning of one.
func lists(entries, names []string) bool {
	return slices.ContainsFunc(entries, func(entry string) bool {
		start, isStart := strings.CutSuffix(entry, "*")
		return slices.ContainsFunc(names, func(name string) bool {
			return name != "" && (name == entry || isStart && strings.HasPrefix(name, start))
		})
	})
}
