/** Re-exports that evade the arrows: of another room's exports by a room, and of its service's by a face. */
import fs from 'node:fs';
import path from 'node:path';

const exportOfNames = /^export (?:type )?\{([^}]*)\};/gm;
const face = /^[^/]+\/(?:[a-z]+-)?(?:rest|graphql|tasks|cli)\.ts$/;

/** @param from matches the beginning of what must not be passed on */
const smuggling = (from: string, fault: string) => ({
  exports: new RegExp(`^export [^;]*? from '${from}`, 'gm'),
  imports: new RegExp(`^import (?:type )?([^;]*?) from '${from}`, 'gm'),
  fault,
});
const ofOther = smuggling(
  String.raw`\.\./[\w-]+/`,
  "exports what is another room's; import it there, or offer a function that says what it is for",
);
const ofService = smuggling(String.raw`\./service\.ts'`, "exports what is its service's; import the service there");

const split = (list = '') => list.split(/[{},]/).map((each) => each.trim());
/** The names that an import gives, and those that an export takes: either side of `as`. */
const imported = (list?: string) => split(list).flatMap((each) => /\w+$/.exec(each) ?? []);
const exported = (list?: string) => split(list).flatMap((each) => /^(?:type )?(\w+)/.exec(each)?.[1] ?? []);

/** Each such re-export in the project, a line each. */
export function findSmuggled(project: string): string[] {
  const src = path.join(project, 'src');
  return fs.globSync('*/**/*.ts', { cwd: src }).flatMap((file) => {
    const text = fs.readFileSync(path.join(src, file), 'utf8');
    return (face.test(file) ? [ofOther, ofService] : [ofOther]).flatMap(({ exports, imports, fault }) => {
      const names = new Set([...text.matchAll(imports)].flatMap(([, list]) => imported(list)));
      const smuggled = [
        ...text.matchAll(exports),
        ...[...text.matchAll(exportOfNames)].filter(([, list]) => exported(list).some((name) => names.has(name))),
      ];
      return smuggled.map(({ index }) => `src/${file}:${text.slice(0, index).split('\n').length}: ${fault}`);
    });
  });
}
