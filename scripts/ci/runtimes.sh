#!/bin/bash
# The package on every Node, on Bun and on Deno.
set -euo pipefail
cd "$(dirname "$0")/../.."

node scripts/test.mjs --built --part runtimes
