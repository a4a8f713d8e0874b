#!/bin/bash
# The binaries that are shipped. Before what looks at the package.
set -euo pipefail
cd "$(dirname "$0")/../.."

npm run --silent prebuilds
