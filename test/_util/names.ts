/** One name for one thing: the name of an exported type is unique in the project. */
import fs from 'node:fs';
import path from 'node:path';

/** Row types are named after their tables, and the pages in browsers are programs of their own. */
const notRead = /^(?:db\/tables\.ts|web\/(?:console|display)\/.*)$/;

const declaration = /^(export )?(?:interface|type|class) (\w+)/gm;

/** Each exported type whose name another file gives to a type as well, a line each. */
export function findSharedNames(project: string): string[] {
  const src = path.join(project, 'src');
  const declared = new Map<string, { file: string; isExported: boolean }[]>();
  for (const file of fs.globSync('**/*.ts', { cwd: src }).sort()) {
    if (notRead.test(file)) continue;
    for (const { 1: exported, 2: name = '' } of fs.readFileSync(path.join(src, file), 'utf8').matchAll(declaration))
      declared.set(name, [...(declared.get(name) ?? []), { file, isExported: exported !== undefined }]);
  }
  return [...declared]
    .filter(([, places]) => places.length > 1 && places.some(({ isExported }) => isExported))
    .map(([name, places]) => `the type ${name} is declared in ${places.map(({ file }) => `src/${file}`).join(', ')}`);
}
