package environment

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// BadgeQuery chooses what a badge is about.
type BadgeQuery struct {
	SHA        string // a commit, deployed or not
	Repository string // empty: all that the Environment has
	Branch     string // its last commit that was deployed there; empty: what is deployed now
}

// maxBadgeCommits bounds the verdicts of a badge: the status of an Environment has at most 50 entries.
const maxBadgeCommits = 50

// BadgeCommits returns the commits whose verdicts a badge shows together. Runs are all runs of the Environment.
func BadgeCommits(e *v1alpha1.Environment, runs []*v1alpha1.Suite, q BadgeQuery) (all []commit.Commit) {
	if q.SHA != "" {
		return []commit.Commit{commit.New(q.Repository, "", q.SHA)}
	}
	if q.Branch != "" {
		return lastOfBranch(e, runs, q)
	}
	e = workloads.WithCurrent(e, runs)
	for i := range e.Status.Deployed {
		d := &e.Status.Deployed[i]
		if q.Repository == "" || commit.SameRepository(d.Repository, q.Repository) {
			all = append(all, commit.New(d.Repository, d.Service, revisionOf(d, testsOf(e, d, runs))))
		}
	}
	return all[:min(len(all), maxBadgeCommits)]
}

// lastOfBranch returns the newest commit of each repository and service.
func lastOfBranch(e *v1alpha1.Environment, runs []*v1alpha1.Suite, q BadgeQuery) (all []commit.Commit) {
	newest := map[commit.Part]*v1alpha1.Suite{}
	for _, s := range runs {
		d := s.Spec.Deployment
		part := ledger.PartOf(e, d.Repository, d.Service)
		if d.Branch != q.Branch || q.Repository != "" && !commit.SameRepository(part.Repository, q.Repository) || !ledger.IsDeployment(s) {
			continue
		}
		if other := newest[part.Key()]; other == nil || ledger.CompareRequests(s, other) > 0 {
			newest[part.Key()] = s
		}
	}
	for part, s := range newest {
		all = append(all, commit.Commit{Part: part, Revision: s.Spec.Deployment.SHA})
	}
	slices.SortFunc(all, func(a, b commit.Commit) int { return compareParts(a.Part, b.Part) })
	return all[:min(len(all), maxBadgeCommits)]
}

// Badges have the height of those beside them in a README.
const (
	badgeHeight = 20
	badgeIcon   = 14
	badgeSpace  = 7  // beside texts
	maxBadge    = 63 // bytes of a text: the longest name of an Environment
	badgeName   = "#43474e"
)

// Badge draws the state of a verdict as SVG. It has no rules of style, because pages that show it may forbid these.
func Badge(name string, s verdict.State) []byte {
	look := VerdictLookOf(s)
	name, label := plaintext.Line(name, maxBadge), strings.ToLower(look.Label)
	nameWidth, labelWidth := textWidth(name), textWidth(label)
	left := nameWidth + 2*badgeSpace
	right := badgeSpace + badgeIcon + badgeSpace/2 + labelWidth + badgeSpace
	said := escaped(name + ": " + label)
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" role="img" aria-label="%s"><title>%s</title>`,
		left+right, badgeHeight, said, said)
	fmt.Fprintf(&out, `<clipPath id="r"><rect width="%d" height="%d" rx="4"/></clipPath><g clip-path="url(#r)">`, left+right, badgeHeight)
	fmt.Fprintf(&out, `<rect width="%d" height="%d" fill="%s"/>`, left, badgeHeight, badgeName)
	fmt.Fprintf(&out, `<rect x="%d" width="%d" height="%d" fill="%s"/></g>`, left, right, badgeHeight, look.Colors.Light)
	fmt.Fprintf(&out, `<svg x="%d" y="%d" width="%d" height="%d" viewBox="0 0 20 20" color="#fff" fill="none" stroke="currentColor" `+
		`stroke-width="2" stroke-linecap="round" stroke-linejoin="round">%s</svg>`,
		left+badgeSpace, (badgeHeight-badgeIcon)/2, badgeIcon, badgeIcon, onBadge(look))
	fmt.Fprint(&out, `<g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">`)
	text := `<text x="%d" y="14" textLength="%d" lengthAdjust="spacingAndGlyphs">%s</text>`
	fmt.Fprintf(&out, text+text, badgeSpace, nameWidth, escaped(name),
		left+badgeSpace+badgeIcon+badgeSpace/2, labelWidth, escaped(label))
	out.WriteString("</g></svg>\n")
	return out.Bytes()
}

// onBadge cuts the sign of a filled icon out of white. What is faint on a page would not be seen on the ground of a badge.
func onBadge(look VerdictLook) string {
	return strings.NewReplacer(`stroke="#fff"`, `stroke="`+look.Colors.Light+`"`, ` opacity=".45"`, "").Replace(look.Icon)
}

// textWidth is about the width in Verdana at 11 px. The drawing makes other fonts fit.
func textWidth(text string) int {
	tenths := 0
	for _, r := range text {
		switch {
		case strings.ContainsRune("ijlI.,:;'|!", r):
			tenths += 38
		case strings.ContainsRune("frt-()[] ", r):
			tenths += 46
		case strings.ContainsRune("mwMW%@", r):
			tenths += 98
		case r > 0x7f: // at most a square
			tenths += 110
		case r >= 'A' && r <= 'Z':
			tenths += 76
		default:
			tenths += 67
		}
	}
	return cmp.Or((tenths+9)/10, 1)
}

func escaped(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // into memory
	return out.String()
}
