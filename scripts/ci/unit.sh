#!/bin/bash
# Tests that start no process of ours: plans, objects, reviews, scripts.
set -euo pipefail
cd "$(dirname "$0")/../.."

node scripts/test.mjs --built --part unit
