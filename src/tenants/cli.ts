import { type AddCommands, CommandFailed, readJsonFile, type TenantOption, tenantOption } from '../cli/command.ts';
import { formatTable } from '../cli/output.ts';
import { InvalidInput } from '../errors.ts';
import { printedJson } from '../printing.ts';
import * as tenants from './service.ts';
import { toPersonRecord } from './wire.ts';

/** @throws CommandFailed naming the file, with one line per fault */
const inFile =
  (file: string) =>
  (error: unknown): never => {
    throw error instanceof InvalidInput
      ? new CommandFailed(error.errors.map(({ message }) => `${file}: ${message}`).join('\n'))
      : error;
  };

/** @throws CommandFailed naming the file, with one line per fault */
async function readFile(file: string): Promise<tenants.TenantFile> {
  const sent = await readJsonFile(file);
  try {
    return tenants.readTenantFile(sent);
  } catch (error) {
    return inFile(file)(error);
  }
}

const written = (value: unknown) => (value === undefined ? 'nothing' : JSON.stringify(value));

/** The records that differ, with their members below them, line by line. */
const describeChanges = ({ records }: tenants.Applied): string[] =>
  records
    .filter(({ fate }) => fate !== 'unchanged')
    .flatMap(({ kind, name, fate, changes }) => [
      `${kind} ${name}: ${fate}`,
      ...changes.map(({ member, old, new: value }) =>
        fate === 'created' ? `  ${member}: ${written(value)}` : `  ${member}: ${written(old)} -> ${written(value)}`,
      ),
    ]);

/** Describes the holidays that were read from the file, one line for each calendar. */
const describeReadings = ({ records }: tenants.Applied): string[] =>
  records.flatMap(({ kind, name, reading }) => {
    if (!reading) return [];
    const unused = reading.unused.map(({ reason, events }) => `, ${events} ${reason}`).join('');
    return [`${kind} ${name}: ${reading.events} read, ${reading.holidays} holidays${unused}`];
  });

const toReading = ({ events, holidays, unused }: NonNullable<tenants.AppliedRecord['reading']>) => ({
  Events: events,
  Holidays: holidays,
  Unused: unused.map(({ reason, events: some }) => ({ Reason: reason, Events: some })),
});

const toChangeRecords = ({ records }: tenants.Applied) =>
  records
    .filter(({ fate }) => fate !== 'unchanged')
    .map(({ kind, name, fate, changes, reading }) => ({
      Kind: kind,
      Name: name,
      Action: fate === 'created' ? 'Created' : 'Changed',
      Members: changes.map(({ member, old, new: value }) => ({ Member: member, Old: old ?? null, New: value })),
      ...(reading && { Reading: toReading(reading) }),
    }));

export const addCommands: AddCommands = (program, action) => {
  program
    .command('apply')
    .description('create or change the master data of a tenant; what the file does not name stays unchanged')
    .argument('<file>', 'tenant file (JSON)')
    .option('--dry-run', 'print what would change, record by record, and write nothing')
    .addHelpText('after', 'Example:\n  $ roomgate apply examples/school.json')
    .action(async (path: string, { dryRun = false }: { dryRun?: boolean }) => {
      // The file is read before `action` opens the database.
      const file = await readFile(path);
      await action(async ({ context, print }) => {
        const run = dryRun ? tenants.previewTenantFile : tenants.applyTenantFile;
        const applied = await run(context.db, file).catch(inFile(path));
        const { created, changed, unchanged } = applied;
        const readings = describeReadings(applied);
        const counts = `${created} created, ${changed} changed, ${unchanged} unchanged.`;
        print(
          dryRun
            ? [...describeChanges(applied), ...readings, `Tenant ${file.Mandator} would have ${counts}`].join('\n')
            : [...readings, `Tenant ${file.Mandator}: ${counts}`].join('\n'),
          {
            Mandator: file.Mandator,
            DryRun: dryRun,
            Created: created,
            Changed: changed,
            Unchanged: unchanged,
            Records: toChangeRecords(applied),
          },
        );
      })();
    });

  program
    .command('export')
    .description('write the tenant file that describes the present state of a tenant')
    .addOption(tenantOption())
    .addHelpText('after', 'Example:\n  $ roomgate export --mandator demo')
    .action(
      action(async ({ context, print }, options: TenantOption) => {
        const file = await tenants.exportTenant(context.db, options.mandator);
        print(printedJson(file, 2), file);
      }),
    );

  program
    .command('tenants')
    .description('the tenants of this installation')
    .command('list')
    .description('list tenants with their numbers of rooms and persons')
    .addHelpText('after', 'Example:\n  $ roomgate tenants list')
    .action(
      action(async ({ context, print }) => {
        const all = await tenants.listTenants(context.db);
        const rows = all.map(({ code, name, resources, persons }) => [code, name, resources, persons]);
        print(
          rows.length > 0 ? formatTable(['Mandator', 'Name', 'Rooms', 'Persons'], rows) : tenants.noTenantYet,
          all.map(({ code, name, resources, persons }) => ({
            Mandator: code,
            Name: name,
            ResourceCount: resources,
            PersonCount: persons,
          })),
        );
      }),
    );

  program
    .command('persons')
    .description('the persons of a tenant')
    .command('list')
    .description('list persons, including inactive ones')
    .addOption(tenantOption())
    .addHelpText('after', 'Example:\n  $ roomgate persons list --mandator demo')
    .action(
      action(async ({ context, print }, options: TenantOption) => {
        const persons = await tenants.listPersonsOf(context.db, options.mandator);
        const state = ({ active }: { active: boolean }) => (active ? 'active' : 'inactive');
        const rows = persons.map((one) => [one.id, one.email, one.name, one.role, state(one)]);
        print(formatTable(['Id', 'Email', 'Name', 'Role', 'State'], rows), persons.map(toPersonRecord));
      }),
    );

  const parameter = program.command('parameter').description('the parameters of a tenant');

  parameter
    .command('get')
    .description('print one parameter, or all')
    .argument('[name]', 'the parameter')
    .addOption(tenantOption())
    .addHelpText('after', 'Example:\n  $ roomgate parameter get --mandator demo')
    .action(
      action(async ({ context, print }, name: string | undefined, options: TenantOption) => {
        const one = name === undefined ? undefined : tenants.readParameterName(name);
        const { parameters } = await tenants.getMandator(context.db, options.mandator);
        if (one) print(String(parameters[one]), { [one]: parameters[one] });
        else print(formatTable(['Parameter', 'Value'], Object.entries(parameters)), parameters);
      }),
    );

  parameter
    .command('set')
    .description('change one parameter, at once on every process')
    .argument('<name>', 'the parameter')
    .argument('<value>', 'its new value')
    .addOption(tenantOption())
    .addHelpText('after', 'Example:\n  $ roomgate parameter set --mandator demo PinAuthenticationAllowed true')
    .action(
      action(async ({ context, print }, name: string, value: string, options: TenantOption) => {
        const change = await tenants.setParameter(context.db, options.mandator, name, value);
        const [[known, is] = []] = Object.entries(change);
        print(`${known} is ${is}.`, change);
      }),
    );
};
