package main

import (
	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/internal/cli"
)

// kube is how commands reach the cluster, with the flags that kubectl has.
type kube struct {
	output
	cli.Kube
}

func (k *kube) addFlags(cmd *cobra.Command) {
	k.output.addFlags(cmd)
	f := cmd.Flags()
	f.StringVarP(&k.Namespace, "namespace", "n", "", "namespace of the team; default: that of the kubeconfig's context")
	f.StringVar(&k.Context, "context", "", "context of the kubeconfig")
	f.StringVar(&k.Kubeconfig, "kubeconfig", "", "default: $KUBECONFIG, or ~/.kube/config")
}

func (k *kube) connect(cmd *cobra.Command) (*cli.Cluster, *cli.Console, error) {
	console, err := k.console(cmd)
	if err != nil {
		return nil, nil, err
	}
	cluster, err := k.Connect()
	return cluster, console, err
}
