// The reference of the API, from the docstrings: TypeDoc writes it to reports/api. Ends with 1 where
// an export or a member of one has no docstring, where a link leads nowhere, or TypeDoc warns.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import * as typedoc from 'typedoc';

const root = path.join(import.meta.dirname, '..');

/** Types that exports are written with and that are of no use by themselves; TypeDoc names others. */
const NOT_EXPORTED = [
  'CACHES',
  'EXPECTED_KINDS',
  'EndingKind',
  'EntryOf',
  'Fields',
  'GATE_NAMES',
  'LIMITS',
  'MatcherContext',
  'OBJECT_KINDS',
  'OutcomeByKind',
  'PRESETS',
  'ParentChannel',
  'SOCKET_STATES',
  'Session',
  'StdioTuple',
  'StreamOf',
  'Variables',
];

const OURS = {
  entries: ['index', 'credentials', 'review', 'register', 'vitest'].map((name) =>
    path.join(root, `src/${name}.ts`),
  ),
  tsconfig: path.join(root, 'tsconfig.json'),
  notExported: NOT_EXPORTED,
};

class Collector extends typedoc.Logger {
  problems = [];

  log(message, level) {
    if (level >= typedoc.LogLevel.Warn) this.problems.push(message);
  }

  addContext(message) {
    return message;
  }
}

/**
 * What has no docstring. A property of a type that is written in place is told by the one it belongs
 * to, as `{ soft, hard }`.
 */
function findUndocumented(project) {
  const { ReflectionKind } = typedoc;
  const asked =
    ReflectionKind.SomeType |
    ReflectionKind.ClassOrInterface |
    ReflectionKind.Variable |
    ReflectionKind.Property |
    ReflectionKind.Accessor |
    ReflectionKind.CallSignature;
  const isInPlace = (it) =>
    it !== undefined && (it.kindOf(ReflectionKind.TypeLiteral) || isInPlace(it.parent));
  return project
    .getReflectionsByKind(asked & ~ReflectionKind.TypeLiteral & ~ReflectionKind.Project)
    .filter((it) => !isInPlace(it) && !isExternal(it) && !it.flags.isInherited)
    .filter((it) => !isDocumented(it))
    .map((it) => `${it.getFullName()} has no docstring`);
}

const isExternal = (it) => it.flags.isExternal || (it.parent ? isExternal(it.parent) : false);

function isDocumented(it) {
  if (it.hasComment()) return true;
  const { ReflectionKind } = typedoc;
  if (it.kindOf(ReflectionKind.CallSignature))
    return it.parent.signatures.some((s) => s.hasComment());
  return it.signatures?.some((s) => s.hasComment()) || it.getSignature?.hasComment() || false;
}

/**
 * @param from where the entries are, with their tsconfig.json; tests give a folder of their own
 * @returns what is wrong, one line each; the pages are written whatever that is
 */
export async function writeApiDocs(out, from = OURS) {
  const app = await typedoc.Application.bootstrap({
    entryPoints: from.entries,
    tsconfig: from.tsconfig,
    name: 'sallyport',
    readme: 'none',
    excludeExternals: true,
    excludeInternal: true,
    excludePrivate: true,
    disableSources: true,
    intentionallyNotExported: from.notExported,
    validation: { notExported: true, invalidLink: true, invalidPath: true, notDocumented: false },
    skipErrorChecking: true,
  });
  const logger = new Collector();
  app.logger = logger;
  const project = await app.convert();
  if (project === undefined) return [...logger.problems, 'the sources cannot be read'];
  app.validate(project);
  await app.generateDocs(project, out);
  return [...logger.problems, ...findUndocumented(project)];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problems = await writeApiDocs(path.join(root, 'reports/api'));
  for (const problem of problems) console.log(`api-docs: ${problem}`);
  console.log(
    problems.length === 0 ? 'api-docs: reports/api' : `api-docs: ${problems.length} found`,
  );
  process.exitCode = problems.length === 0 ? 0 : 1;
}
