#!/bin/bash
# Tests by real processes: launches, runs, audits, the command line, the documents, the examples.
set -euo pipefail
cd "$(dirname "$0")/../.."

node scripts/test.mjs --built --part process
