// What ESLint checks: likely mistakes by type, and that each room imports only what lies below it.
import js from '@eslint/js';
import globals from 'globals';
import tseslint from 'typescript-eslint';

// The rooms of src/, each with the rooms it may import. errors.ts, native.ts and the other files
// beside the rooms are open to all.
const rooms = {
  objects: [],
  sockets: ['objects', 'audit'],
  plan: ['objects'],
  launch: ['objects', 'plan'],
  environment: ['objects', 'plan', 'launch'],
  run: ['objects', 'plan', 'launch', 'environment', 'review'],
  audit: ['objects', 'plan'],
  review: ['objects', 'plan'],
  credentials: ['objects', 'plan', 'launch', 'run', 'audit'],
  compat: ['objects', 'plan', 'launch', 'audit'],
};

const onlyNativeLoads = {
  name: 'node-gyp-build',
  message: 'Only src/native.ts loads the addon; import from there.',
};
const nobodyImportsTheCli = {
  regex: '/cli/',
  message: 'The command line is the last user of the package; nothing imports it.',
};

function boundaries(room, allowed) {
  const closed = Object.keys(rooms).filter((name) => name !== room && !allowed.includes(name));
  return {
    files: [`src/${room}/**`],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: [onlyNativeLoads],
          patterns: [
            nobodyImportsTheCli,
            {
              regex: `^(\\.\\./)+(${closed.join('|')}|index)(/|\\.|$)`,
              message: `src/${room}/ imports only ${['itself', ...allowed].join(', ')} and the files beside the rooms.`,
            },
          ],
        },
      ],
    },
  };
}

export default tseslint.config(
  {
    ignores: [
      'dist/',
      'build/',
      'build-cmake/',
      'reports/',
      '**/node_modules/',
      'test/fixtures/build/',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    rules: {
      eqeqeq: 'error',
      'no-restricted-imports': ['error', { paths: [onlyNativeLoads] }],
    },
  },
  {
    files: ['**/*.{ts,mts,cts}'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      // A number prints as one would expect; an object or undefined does not.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      // What comes from the system or from a caller without types is checked at run time as well.
      '@typescript-eslint/no-unnecessary-condition': 'off',
    },
  },
  {
    files: ['src/**/*.ts', 'src/**/*.mts'],
    ignores: ['src/cli/**'],
    rules: {
      'no-console': 'error',
      'no-restricted-imports': [
        'error',
        { paths: [onlyNativeLoads], patterns: [nobodyImportsTheCli] },
      ],
    },
  },
  ...Object.entries(rooms).map(([room, allowed]) => boundaries(room, allowed)),
  { files: ['src/native.ts'], rules: { 'no-restricted-imports': 'off' } },
  {
    // Tests hand over wrong types on purpose and look into what they get back.
    files: ['test/**/*.ts', 'bench/**/*.ts'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-dynamic-delete': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
  { files: ['**/*.{js,mjs,cjs}'], languageOptions: { globals: globals.node } },
  { files: ['**/*.{js,cjs}'], languageOptions: { sourceType: 'commonjs' } },
);
