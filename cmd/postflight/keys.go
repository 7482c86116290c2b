package main

import "github.com/spf13/cobra"

func newKeys() *cobra.Command {
	return group(&cobra.Command{
		Use:   "keys",
		Short: "Create, list and revoke the API keys of a team, through the kubeconfig",
	}, newKeysCreate(), newKeysList(), newKeysRevoke())
}
