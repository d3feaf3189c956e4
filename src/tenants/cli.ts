import fs from 'node:fs/promises';
import { type AddCommands, CommandFailed, unreadableFile } from '../cli/command.ts';
import { formatTable } from '../cli/output.ts';
import { InvalidInput } from '../errors.ts';
import { readParameterName } from './parameters.ts';
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

  const parameter = program.command('parameter').description('the parameters of a tenant');

  parameter
    .command('get')
    .description('print one parameter, or all')
    .argument('[name]', 'the parameter')
    .requiredOption('--mandator <code>', 'the tenant')
    .addHelpText('after', 'Example:\n  $ roomgate parameter get --mandator demo')
    .action(
      action(async ({ context, print }, name: string | undefined, options: { mandator: string }) => {
        const one = name === undefined ? undefined : readParameterName(name);
        const { parameters } = await tenants.getMandator(context.db, options.mandator);
        if (one) print(String(parameters[one]), { [one]: parameters[one] });
        else print(formatTable(['Parameter', 'Value'], Object.entries(parameters)), parameters);
      }),
    );

  parameter
    .command('set')
    .description('change one parameter; it counts at once, on every process')
    .argument('<name>', 'the parameter')
    .argument('<value>', 'its new value')
    .requiredOption('--mandator <code>', 'the tenant')
    .addHelpText(
      'after',
      'Example:\n  $ roomgate parameter set --mandator demo PinAuthenticationAllowed true',
    )
    .action(
      action(async ({ context, print }, name: string, value: string, options: { mandator: string }) => {
        const change = await tenants.setParameter(context.db, options.mandator, name, value);
        const [[known, is] = []] = Object.entries(change);
        print(`${known} is ${is}.`, change);
      }),
    );
};
