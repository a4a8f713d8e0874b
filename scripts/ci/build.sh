#!/bin/bash
# Builds what the parts after it test: dist/ and the addon.
set -euo pipefail
cd "$(dirname "$0")/../.."

npm run --silent build
