#!/bin/bash
# The demo, as a reader of README.md runs it.
set -euo pipefail
cd "$(dirname "$0")/../.."

npm run --silent demo
