package view

import (
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// OtherDeployment is another deployment of a run's commit, whose notification was answered with that run.
type OtherDeployment struct {
	Received *Time
	With     string // what is different
	At       *Link
}

// differences complete "another deployment of this commit, with".
var differences = []struct {
	difference v1alpha1.Difference
	text       string
}{
	{v1alpha1.DifferentURL, "another URL"}, {v1alpha1.DifferentVariables, "other variables"},
	{v1alpha1.DifferentInputs, "other input files"}, {v1alpha1.UnknownInputs, "perhaps other input files"},
	{v1alpha1.DifferentRepository, "another repository"}, {v1alpha1.DifferentEnvironment, "an Environment that was created again"},
}

func otherDeployment(o v1alpha1.OtherDeployment, now time.Time) *OtherDeployment {
	var with []string
	for _, d := range differences {
		if slices.Contains(o.Differs, d.difference) {
			with = append(with, d.text)
		}
	}
	other := &OtherDeployment{Received: TimeOf(o.NotifiedAt.Time, now), With: strings.Join(with, " and ")}
	if slices.Contains(o.Differs, v1alpha1.DifferentURL) {
		other.At = DeployedAt(o.URL)
	}
	return other
}
