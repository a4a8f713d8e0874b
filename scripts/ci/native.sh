#!/bin/bash
# The core in C++, under AddressSanitizer with UndefinedBehaviorSanitizer, and ThreadSanitizer.
set -euo pipefail
cd "$(dirname "$0")/../.."

node scripts/test.mjs --built --part native
