/** What a migration must not do beside the release before it, as far as its SQL tells: docs/upgrading.md, "For writers of migrations". */

/** The parts of a list; commas within brackets and quotes separate none. */
function partsOf(list: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const [token] of list.matchAll(/'[^']*'|[^']/gs)) {
    if (token === '(' || token === '[') depth++;
    if (token === ')' || token === ']') depth--;
    if (token === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += token;
  }
  return parts.map((part) => part.trim());
}

/** The text without its parts in brackets and quotes. */
function outerOf(text: string): string {
  const inner = /\([^()]*\)/g;
  let outer = text.replaceAll(/'[^']*'/g, "''");
  while (inner.test(outer)) outer = outer.replaceAll(inner, ' ');
  return outer;
}

const takesAway = /\b(?:drop(?! not null)|rename|set not null|alter (?:column )?\w+ (?:set data )?type)\b/i;

/** What an addition to a table that has rows does to them, or is missing; while it runs nobody else writes there. */
function faultOfAddition(addition: string): string | undefined {
  const outer = outerOf(addition);
  const [, constraint] = /^add (?:constraint \w+ )?(check|foreign key|unique|primary key|exclude)\b/i.exec(outer) ?? [];
  if (constraint) {
    const isQuick = /^(?:check|foreign key)$/i.test(constraint) ? /\bnot valid$/i : /\busing index\b/i;
    return isQuick.test(outer) ? undefined : `reads all rows: ${constraint.toLowerCase()}`;
  }
  if (/\b(?:check|references|unique|primary key)\b/i.test(outer)) return 'reads all rows: constraint of a column';
  // now() is computed once, for all rows.
  if (/\bgenerated\b|\bdefault (?!now\b)\w+ ?\(/i.test(addition)) return 'writes all rows anew: computed column';
  if (/\bnot null\b/i.test(outer) && !/\bdefault\b/i.test(outer)) return 'fails where there are rows: not null';
  return undefined;
}

/**
 * @param name of the file, without its ending
 * @returns what is wrong with it, each with the table
 */
export function findUnsafe(name: string, text: string): string[] {
  const statements = text
    .replaceAll(/--.*/g, '')
    // A block runs at once; the body of a function does not.
    .replaceAll(/\bdo (\$\w*\$)\s*begin\b(.*?)\1/gis, '$2')
    .replaceAll(/(\$\w*\$).*?\1/gs, "''")
    .split(';')
    .map((statement) => statement.trim().replaceAll(/\s+/g, ' '));
  const made = new Set(statements.flatMap((statement) => /^create (?:\w+ )?table (\w+)/i.exec(statement)?.[1] ?? []));
  const faults: string[] = [];
  const done = new Map<string, string[]>();
  for (const statement of statements) {
    const [, table = '', list = ''] = /^alter table (?:if exists )?(?:only )?(\w+) (.*)$/is.exec(statement) ?? [];
    if (!table || made.has(table)) continue;
    const actions = partsOf(list);
    done.set(table, [...(done.get(table) ?? []), ...actions]);
    for (const action of actions) {
      const fault = /^add\b/i.test(action) ? faultOfAddition(action) : undefined;
      if (fault) faults.push(`${table}: ${fault}`);
    }
  }
  for (const [table, actions] of done)
    if (actions.length > 1 && actions.some((action) => /^validate constraint\b/i.test(action)))
      faults.push(`${table}: validates under the lock of another change`);
  const raises = statements.includes(`update schema_floor set migration = '${name}'`);
  if (statements.some((statement) => takesAway.test(outerOf(statement))) && !raises)
    faults.push('takes something away, and does not raise the floor to itself');
  return faults;
}
