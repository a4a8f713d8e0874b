// import and require of every entry give the same instances.
import { createRequire } from 'node:module';

import * as imported from 'sallyport';
import * as credentials from 'sallyport/credentials';
import * as review from 'sallyport/review';
import * as childProcess from 'sallyport/child_process';

const require = createRequire(import.meta.url);

const sameAs = (module, name) => {
  const required = require(name);
  const names = Object.keys(required).filter((key) => key !== 'default' && key !== '__esModule');
  return names.length > 0 && names.every((key) => module[key] === required[key]);
};

process.stdout.write(
  `${JSON.stringify({
    sallyport: sameAs(imported, 'sallyport'),
    credentials: sameAs(credentials, 'sallyport/credentials'),
    review: sameAs(review, 'sallyport/review'),
    childProcess: sameAs(childProcess, 'sallyport/child_process'),
    version: require('sallyport/package.json').name,
  })}\n`,
);
