/** The generated files: `npm run generate` writes them, `npm run check` compares them with what stands in the tree. */
import fs from 'node:fs';
import path from 'node:path';
import { openDatabase } from '../../src/db/database.ts';
import { openLog } from '../../src/log.ts';
import { startTestPostgres } from './postgres.ts';

export const project = path.join(import.meta.dirname, '..', '..');

type GeneratedFile = { file: string; text: string };

/**
 * What each generator makes of the present sources; `file` is relative to the project. In the order of their need. Each loads
 * what only it needs: the other checks shall not wait for it, nor do tests need it, and an error in the schema must not stop them.
 */
export const generators: Record<string, () => Promise<GeneratedFile[]>> = {
  async 'row types'() {
    const { generate, getDialect } = await import('kysely-codegen');
    const server = await startTestPostgres();
    const db = openDatabase(server.url, { max: 1, log: openLog('silent'), statementTimeout: 0 });
    try {
      const text = await generate({
        db,
        dialect: getDialect('postgres', { dateParser: 'string' }),
        defaultSchemas: ['public'],
        includePattern: 'public.*',
        excludePattern: 'kysely_*',
        typeMapping: { int8: 'number' },
      });
      return [{ file: 'src/db/tables.ts', text }];
    } finally {
      await db.destroy();
      await server.stop();
    }
  },

  async 'GraphQL schema'() {
    const { printSchemaText } = await import('../../src/graphql/schema.ts');
    return [{ file: 'src/graphql/schema.graphql', text: printSchemaText() }];
  },

  async 'OpenAPI document'() {
    const [{ apiDocument }, { ownRoot }] = await Promise.all([
      import('../../src/app.ts'),
      import('../../src/config.ts'),
    ]);
    const root = ownRoot({ Host: '127.0.0.1', Port: 8080 });
    const document = apiDocument({ BaseUrl: root, IdpUrl: root });
    return [{ file: 'src/rest/openapi.json', text: `${JSON.stringify(document, null, 2)}\n` }];
  },

  async 'pages of docs'() {
    const { commandLinePage, outsideCommandsPage, settingsPage } = await import('./pages.ts');
    const { rightsPage } = await import('./rights.ts');
    return [
      { file: 'docs/settings.md', text: settingsPage() },
      { file: 'docs/command-line.md', text: commandLinePage() },
      { file: 'docs/command-line-outside.md', text: outsideCommandsPage() },
      { file: 'docs/rights.md', text: rightsPage() },
    ];
  },

  async 'GraphQL operation types'() {
    const { makeOperationTypes } = await import('./operation-types.ts');
    return makeOperationTypes();
  },
};

if (import.meta.main) {
  process.chdir(project);
  for (const generate of Object.values(generators))
    for (const { file, text } of await generate()) {
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, text);
    }
}
