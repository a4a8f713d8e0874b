#!/bin/bash
# Style: ESLint, the formatters, clang-tidy.
set -euo pipefail
cd "$(dirname "$0")/../.."

node scripts/lint.mjs style
