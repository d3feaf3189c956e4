import fs from 'node:fs/promises';
import { type AddCommands, CommandFailed, unreadableFile } from '../cli/command.ts';
import { InvalidInput } from '../errors.ts';
import * as tenants from './service.ts';

/** @throws CommandFailed naming the file, with one line per fault */
async function readFile(file: string): Promise<tenants.TenantFile> {
  const text = await fs.readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw unreadableFile(file, error);
  });
  try {
    return tenants.readTenantFile(JSON.parse(text.replace(/^\uFEFF/, '')));
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new CommandFailed(`${file}: is not JSON: ${error.message.replaceAll('\n', ' ')}`);
    if (error instanceof InvalidInput)
      throw new CommandFailed(error.errors.map(({ message }) => `${file}: ${message}`).join('\n'));
    throw error;
  }
}

export const addCommands: AddCommands = (program, action) => {
  program
    .command('apply')
    .description('create or change the master data of a tenant; what the file does not name stays')
    .argument('<file>', 'tenant file (JSON)')
    .addHelpText('after', 'Example:\n  $ roomgate apply school.json')
    .action(async (path: string) => {
      // Before the database is opened: a faulty file needs none.
      const file = await readFile(path);
      await action(async ({ context, print }) => {
        const { created, changed, unchanged } = await tenants.applyTenantFile(context.db, file);
        print(`Tenant ${file.Mandator}: ${created} created, ${changed} changed, ${unchanged} unchanged.`, {
          Mandator: file.Mandator,
          Created: created,
          Changed: changed,
          Unchanged: unchanged,
        });
      })();
    });
};
