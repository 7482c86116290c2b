#!/usr/bin/env bash
# Makes bin/shellcheck: that of this machine, or else that of the distribution's package, unpacked but not installed.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p bin
if found=$(command -v shellcheck); then
  ln -sfn "$found" bin/shellcheck
  exit
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
  echo "shellcheck is missing: install it with your distribution's package manager" >&2
  exit 1
fi
echo "==> unpacking shellcheck from the distribution's package"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
download() { (cd "$folder" && apt-get -q -o APT::Sandbox::User=root download shellcheck); }
download || { apt-get -q -o APT::Sandbox::User=root update && download; }
dpkg-deb -x "$folder"/shellcheck_*.deb "$folder/root"
mv "$folder/root/usr/bin/shellcheck" bin/shellcheck
