package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/cmd/postflight/attestation"
	"github.com/postflight-dev/postflight/cmd/postflight/debug"
	"github.com/postflight-dev/postflight/cmd/postflight/doctor"
	"github.com/postflight-dev/postflight/cmd/postflight/environments"
	"github.com/postflight-dev/postflight/cmd/postflight/gate"
	"github.com/postflight-dev/postflight/cmd/postflight/hold"
	"github.com/postflight-dev/postflight/cmd/postflight/keys"
	"github.com/postflight-dev/postflight/cmd/postflight/mcp"
	"github.com/postflight-dev/postflight/cmd/postflight/quarantine"
	"github.com/postflight-dev/postflight/cmd/postflight/replay"
	"github.com/postflight-dev/postflight/cmd/postflight/runs"
	"github.com/postflight-dev/postflight/cmd/postflight/tests"
	"github.com/postflight-dev/postflight/cmd/postflight/triggers"
	"github.com/postflight-dev/postflight/cmd/postflight/upload"
	"github.com/postflight-dev/postflight/cmd/postflight/whoami"
)

// newRoot returns the program with all its commands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "postflight",
		Short: "Postflight: run tests after a deployment",
		Long: `Tells Postflight what was deployed, waits for the runs that follow, and looks at them.

notify, wait, gate, upload, explain, replay, tests, since, quarantine, attest, verify, whoami and mcp talk to the server of
$POSTFLIGHT_URL, as CI does, with a token of the CI job or of the pod, or with the API key of $POSTFLIGHT_API_KEY or of the file
$POSTFLIGHT_API_KEY_FILE;
"postflight whoami --help" says which of them. keys, triggers, hold, debug and doctor talk to the cluster of the kubeconfig, as kubectl
does, and so does explain environment. runs and environments talk to the server if $POSTFLIGHT_URL is set, and to the cluster otherwise.

All of them but doctor mean the team of $POSTFLIGHT_URL and its credential. Without these, they mean the namespace of the kubeconfig's
context. -n names another namespace.

Named kubectl-postflight, the program is a plugin of kubectl.`,
		Example: `  export POSTFLIGHT_URL=https://postflight.example.com POSTFLIGHT_API_KEY=pf_...
  postflight notify --branch main --type staging --wait`,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: programName()},
	}
	explain := gate.NewExplain()
	explain.AddCommand(environments.NewExplain())
	root.AddCommand(
		gate.NewNotify(), gate.NewWait(), gate.NewGate(), explain, replay.New(), upload.New(), keys.New(), runs.New(), tests.New(),
		tests.NewSince(), quarantine.New(), environments.New(), triggers.New(), attestation.NewAttest(), attestation.NewVerify(), hold.New(),
		debug.New(), doctor.New(), whoami.New(), mcp.New(), newVersion(),
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
