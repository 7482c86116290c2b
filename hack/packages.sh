#!/usr/bin/env bash
# Installs the packages of the distribution that CI needs: those of the gate, or with `all`, those of `make test-all`.
set -euo pipefail
missing=()
need() { command -v "$1" >/dev/null || missing+=("$2"); }
need ip iproute2
need curl curl
need npm npm
need shellcheck shellcheck
# A check of signatures in docs/webhooks.md.
need python3 python3
# The run pages.
need chromium chromium
[ -e /usr/lib/x86_64-linux-gnu/libseccomp.so.2 ] || [ -e /usr/lib/aarch64-linux-gnu/libseccomp.so.2 ] || missing+=(libseccomp2)
if [ "${1:-}" = all ]; then
  # A recipe of integrations/policies.
  need jq jq
  # Ceph's S3 gateway, the second store that signed URLs are tested on.
  need radosgw radosgw
  need ceph-mon ceph-mon
  need ceph-osd ceph-osd
fi
if [ ${#missing[@]} -gt 0 ]; then
  echo "==> installing ${missing[*]}"
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
fi
