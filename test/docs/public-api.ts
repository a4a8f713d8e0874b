// What an entry of the package exports, and the names that each exported type has in itself.
import path from 'node:path';
import ts from 'typescript';

import { root } from '../support/fixtures.js';

export interface PublicApi {
  names: string[];
  /** Of interfaces and classes the public members, of unions the strings. */
  members: Map<string, string[]>;
}

/** @param entry `src/index.ts` or another one */
export function readPublicApi(entry = 'src/index.ts'): PublicApi {
  const index = path.join(root, entry);
  const program = ts.createProgram([index], {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.Node16,
    types: ['node'],
    strict: true,
    noEmit: true,
  });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(index);
  const module = source && checker.getSymbolAtLocation(source);
  if (module === undefined) throw new Error(`${index} exports nothing`);
  const api: PublicApi = { names: [], members: new Map() };
  for (const exported of checker.getExportsOfModule(module)) {
    const symbol =
      exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    api.names.push(exported.name);
    const members = symbol.declarations?.flatMap((it) => ownMembers(it, checker)) ?? [];
    if (members.length > 0) api.members.set(exported.name, members);
  }
  return api;
}

function ownMembers(declaration: ts.Declaration, checker: ts.TypeChecker): string[] {
  if (ts.isInterfaceDeclaration(declaration) || ts.isClassDeclaration(declaration)) {
    return declaration.members.flatMap((member) => {
      if (member.name === undefined || ts.isPrivateIdentifier(member.name)) return [];
      return ts.getJSDocTags(member).some(({ tagName }) => tagName.text === 'internal')
        ? []
        : [member.name.getText()];
    });
  }
  if (ts.isTypeAliasDeclaration(declaration)) {
    const type = checker.getTypeAtLocation(declaration);
    const parts = type.isUnion() ? type.types : [type];
    return parts.flatMap((part) => (part.isStringLiteral() ? [part.value] : []));
  }
  return [];
}
