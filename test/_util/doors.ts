/** A room re-exports nothing of another room, as an import of it would evade the arrows. */
import fs from 'node:fs';
import path from 'node:path';

const exportOfOther = /^export [^;]*? from '\.\.\/[\w-]+\//gm;
const importOfOther = /^import (?:type )?([^;]*?) from '\.\.\/[\w-]+\//gm;
const exportOfNames = /^export (?:type )?\{([^}]*)\};/gm;

const split = (list = '') => list.split(/[{},]/).map((each) => each.trim());
/** The names that an import gives, and those that an export takes: either side of `as`. */
const imports = (list?: string) => split(list).flatMap((each) => /\w+$/.exec(each) ?? []);
const exported = (list?: string) => split(list).flatMap((each) => /^(?:type )?(\w+)/.exec(each)?.[1] ?? []);

/** Each re-export of another room's exports in the project, a line each. */
export function findSmuggled(project: string): string[] {
  const src = path.join(project, 'src');
  return fs.globSync('*/**/*.ts', { cwd: src }).flatMap((file) => {
    const text = fs.readFileSync(path.join(src, file), 'utf8');
    const imported = new Set([...text.matchAll(importOfOther)].flatMap(([, list]) => imports(list)));
    const smuggled = [
      ...text.matchAll(exportOfOther),
      ...[...text.matchAll(exportOfNames)].filter(([, list]) => exported(list).some((name) => imported.has(name))),
    ];
    return smuggled.map(
      ({ index }) =>
        `src/${file}:${text.slice(0, index).split('\n').length}: exports what is another room's; import it there, or offer a function that says what it is for`,
    );
  });
}
