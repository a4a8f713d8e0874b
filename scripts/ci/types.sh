#!/bin/bash
# Types: the sources, the tests, the benchmarks and the examples.
set -euo pipefail
cd "$(dirname "$0")/../.."

node scripts/lint.mjs types
