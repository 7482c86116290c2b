#!/usr/bin/env bash
# Generates the Go client of the HTTP API into the tree at $1, from the OpenAPI document here.
set -euo pipefail
cd "$(dirname "$0")/.."
into=$1
mkdir -p "$into/client"
bin/oapi-codegen -config hack/tools/oapi/config.yaml -o "$into/client/zz_generated.client.go" internal/endpoint/openapi.yaml
