#!/bin/bash
# The package as others get it: what is packed and how it is resolved, and its tests.
set -euo pipefail
cd "$(dirname "$0")/../.."

status=0
node scripts/lint.mjs package || status=1
node scripts/test.mjs --built --part package || status=1
exit "$status"
