#!/usr/bin/env bash
# Installs what `cargo test --test transparency` compares a guard with: the SDKs of
# three languages and the conformance suite, each at one version. All of it stays
# in folders here that git ignores. Needs npm, python3 and cargo.
#
# bash tests/clients/install.sh [typescript] [conformance] [python] [rust]
set -euo pipefail
cd "$(dirname "$0")"

step() { printf '$ %s\n' "$*"; "$@"; }

typescript() { step npm ci --prefix typescript --ignore-scripts --no-audit --no-fund; }
conformance() { step npm ci --prefix conformance --ignore-scripts --no-audit --no-fund; }
python() {
  step python3 -m venv python/.venv
  step python/.venv/bin/python -m pip install --quiet --disable-pip-version-check -r python/requirements.txt
}
rust() { step cargo build --quiet --locked --manifest-path rust/Cargo.toml; }

for what in "${@:-typescript conformance python rust}"; do
  for one in $what; do
    case $one in
      typescript | conformance | python | rust) "$one" ;;
      *) echo "there is no '$one'; there are typescript, conformance, python, rust" >&2; exit 2 ;;
    esac
  done
done
