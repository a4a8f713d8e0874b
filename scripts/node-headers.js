'use strict';
// Finds the headers that came with this Node, so that node-gyp need not download them.

const { existsSync, readFileSync } = require('node:fs');
const path = require('node:path');

/** The environment for node-gyp. A `nodedir` that the user has set is left as it is. */
exports.environment = function environment() {
  const prefix = path.join(path.dirname(process.execPath), '..');
  const include = path.join(prefix, 'include/node');
  const isSet = process.env.npm_config_nodedir !== undefined;
  if (isSet || !existsSync(path.join(include, 'common.gypi')) || !matches(include)) {
    return process.env;
  }
  return { ...process.env, npm_config_nodedir: prefix };
};

/** A Node that was copied over another leaves the other's headers beside it. */
function matches(include) {
  const text = readFileSync(path.join(include, 'node_version.h'), 'utf8');
  const version = ['MAJOR', 'MINOR', 'PATCH'].map(
    (part) => new RegExp(`#define NODE_${part}_VERSION (\\d+)`).exec(text)?.[1],
  );
  return version.join('.') === process.versions.node;
}
