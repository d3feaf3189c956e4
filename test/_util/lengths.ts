/** A file of src/ has one subject; one that becomes too long is split by noun. */
import fs from 'node:fs';
import path from 'node:path';

const mostLines = 300;
const isGenerated = (file: string) => file === 'src/db/tables.ts' || file.includes('/generated/');

/** The modules of the project that are too long, a line each. */
export function findLongFiles(project: string): string[] {
  return fs
    .globSync('src/**/*.ts', { cwd: project })
    .filter((file) => !isGenerated(file))
    .flatMap((file) => {
      const lines = fs.readFileSync(path.join(project, file), 'utf8').split('\n').length - 1;
      return lines > mostLines ? [`${file}: has ${lines} lines, and ${mostLines} are allowed; split it by noun`] : [];
    });
}
