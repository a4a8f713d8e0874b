// Writes schema/<name>.v1.json from the types of src/cli/json-output.ts: `npm run schemas`.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import ts from 'typescript';

import { root } from './tools.mjs';

const source = path.join(root, 'src/cli/json-output.ts');

/** Types that JSON has another form for. */
const SPECIAL = { Date: { type: 'string', format: 'date-time' } };

/** Turns types into schemas; objects that have a name stand once, in `$defs`. */
class Writer {
  #checker;
  defs = {};

  constructor(checker) {
    this.#checker = checker;
  }

  write(type) {
    if (type.flags & (ts.TypeFlags.Unknown | ts.TypeFlags.Any)) return {};
    if (type.isUnion()) return this.#union(type);
    if (type.flags & ts.TypeFlags.Null) return { type: 'null' };
    if (type.isStringLiteral() || type.isNumberLiteral()) return { const: type.value };
    if (type.flags & ts.TypeFlags.BooleanLiteral) return { const: type.intrinsicName === 'true' };
    if (type.flags & ts.TypeFlags.String) return { type: 'string' };
    if (type.flags & ts.TypeFlags.Number) return { type: 'number' };
    if (type.flags & ts.TypeFlags.TemplateLiteral) return { type: 'string' };
    if (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) return this.#object(type);
    throw new Error(`no schema for ${this.#checker.typeToString(type)}`);
  }

  #union(type) {
    const members = type.types.filter((each) => !(each.flags & ts.TypeFlags.Undefined));
    const isBoolean = members.filter((each) => each.flags & ts.TypeFlags.BooleanLiteral);
    // The compiler's own order of a union depends on what it has seen before.
    const literals = members
      .filter((each) => each.isStringLiteral() || each.isNumberLiteral())
      .sort((a, b) => (a.value < b.value ? -1 : 1));
    const others = members.filter((each) => !literals.includes(each) && !isBoolean.includes(each));
    const parts = [
      ...(isBoolean.length === 2
        ? [{ type: 'boolean' }]
        : isBoolean.map((each) => this.write(each))),
      ...(literals.length > 1
        ? [{ enum: literals.map(({ value }) => value) }]
        : literals.map((each) => this.write(each))),
      ...others.map((each) => this.write(each)).sort(byText),
    ];
    const plain = parts.every((part) => Object.keys(part).join() === 'type');
    if (parts.length === 1) return parts[0];
    return plain ? { type: parts.map((part) => part.type) } : { anyOf: parts };
  }

  #object(type) {
    const name = (type.aliasSymbol ?? type.symbol)?.name;
    if (name in SPECIAL) return SPECIAL[name];
    if (this.#checker.isTupleType(type)) {
      const items = this.#checker.getTypeArguments(type).map((each) => this.write(each));
      return { type: 'array', prefixItems: items, minItems: items.length, items: false };
    }
    if (this.#checker.isArrayType(type)) {
      return { type: 'array', items: this.write(this.#checker.getTypeArguments(type)[0]) };
    }
    // `__type` and `__object` are types without a name. `Omit` and its like are not what they are of.
    const isNamed = name !== undefined && !name.startsWith('__') && !(name in UTILITIES);
    if (!isNamed) return this.#properties(type);
    if (!(name in this.defs)) {
      this.defs[name] = {};
      this.defs[name] = {
        ...this.#describe(type.aliasSymbol ?? type.symbol),
        ...this.#properties(type),
      };
    }
    return { $ref: `#/$defs/${name}` };
  }

  #properties(type) {
    const properties = {};
    const required = [];
    for (const symbol of this.#checker.getPropertiesOfType(type)) {
      const own = this.#checker.getTypeOfSymbol(symbol);
      if (own.getCallSignatures().length > 0) continue;
      properties[symbol.name] = { ...this.#describe(symbol), ...this.write(own) };
      if (!isAbsentable(symbol, own)) required.push(symbol.name);
    }
    const index = this.#checker.getIndexInfoOfType(type, ts.IndexKind.String);
    return {
      type: 'object',
      ...(Object.keys(properties).length === 0 && index !== undefined ? {} : { properties }),
      ...(required.length === 0 ? {} : { required }),
      ...(index === undefined ? {} : { additionalProperties: this.write(index.type) }),
    };
  }

  #describe(symbol) {
    const text = ts.displayPartsToString(symbol.getDocumentationComment(this.#checker));
    return text === '' ? {} : { description: text.replaceAll(/\s*\n\s*/g, ' ') };
  }
}

const UTILITIES = { Omit: 1, Pick: 1, Partial: 1, Readonly: 1, Record: 1, Required: 1 };

/** What may be there first, null last. */
function byText(a, b) {
  const [left, right] = [a, b].map((each) => JSON.stringify(each));
  const isNull = (text) => Number(text === '{"type":"null"}');
  return isNull(left) - isNull(right) || (left < right ? -1 : 1);
}

/** JSON has no undefined: such a member is left out. */
function isAbsentable(symbol, type) {
  if (symbol.flags & ts.SymbolFlags.Optional) return true;
  if (type.flags & (ts.TypeFlags.Unknown | ts.TypeFlags.Any | ts.TypeFlags.Undefined)) return true;
  return type.isUnion() && type.types.some((each) => each.flags & ts.TypeFlags.Undefined);
}

function openProgram() {
  const { config } = ts.readConfigFile(path.join(root, 'tsconfig.json'), (file) =>
    readFileSync(file, 'utf8'),
  );
  const { options } = ts.convertCompilerOptionsFromJson(
    {
      ...ts.readConfigFile(path.join(root, 'tsconfig.base.json'), (file) =>
        readFileSync(file, 'utf8'),
      ).config.compilerOptions,
      ...config.compilerOptions,
      rootDir: undefined,
    },
    root,
  );
  return ts.createProgram([source], options);
}

/** A schema that is nothing but a reference to a definition is that definition. */
function inline(schema, defs) {
  const name = schema.$ref?.split('/').at(-1);
  if (name === undefined) return schema;
  const own = defs[name];
  if (JSON.stringify(defs).includes(`"${schema.$ref}"`)) return schema;
  delete defs[name];
  return own;
}

/** @returns {Map<string, object>} schemas by name */
export function makeSchemas() {
  const program = openProgram();
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(source));
  const outputs = checker.getExportsOfModule(module).find(({ name }) => name === 'Outputs');
  const schemas = new Map();
  for (const symbol of checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(outputs))) {
    const writer = new Writer(checker);
    const schema = inline(writer.write(checker.getTypeOfSymbol(symbol)), writer.defs);
    const description = ts.displayPartsToString(symbol.getDocumentationComment(checker));
    schemas.set(symbol.name, {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: `https://sallyport.dev/${symbol.name}.v1.json`,
      title: `sallyport ${symbol.name}, version 1`,
      ...schema,
      description,
      ...(Object.keys(writer.defs).length === 0 ? {} : { $defs: writer.defs }),
    });
  }
  return schemas;
}

export const schemaFile = (name) => path.join(root, `schema/${name}.v1.json`);

export const printSchema = (schema) => `${JSON.stringify(schema, null, 2)}\n`;

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const [name, schema] of makeSchemas()) writeFileSync(schemaFile(name), printSchema(schema));
}
