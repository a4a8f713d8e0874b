#!/bin/bash
# Installs what the other scripts of this folder need: tools by apt (as root, on Debian), packages by npm.
set -euo pipefail
cd "$(dirname "$0")/../.."

export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends \
  g++ make python3 cmake ninja-build doctest-dev clang clang-format clang-tidy libclang-rt-14-dev \
  strace lsof procps iproute2 systemd chromium util-linux util-linux-extra git tmux \
  python3-boto3 awscli postgresql postgresql-client curl \
  bash-completion zsh fish man-db groff mandoc \
  g++-aarch64-linux-gnu qemu-user-static xz-utils >/dev/null

npm ci
npm run test:peers
npm run test:managers
npm run prebuilds:tools
