import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { InvalidArgumentError } from 'commander';
import { type AddCommands, CommandFailed, commandGroup, type TenantOption } from '../cli/command.ts';
import { tell } from '../cli/output.ts';
import { isDatabaseUrl } from '../flow/database-urls.ts';
import * as cells from './service.ts';

function readSeconds(text: string): number {
  const seconds = Number(text);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > 3_600)
    throw new InvalidArgumentError('It must be a whole number from 1 to 3600.');
  return seconds;
}

function readDatabaseUrl(text: string): string {
  if (!isDatabaseUrl(text)) throw new InvalidArgumentError('It must be a URL such as postgres://user@host/database.');
  return text;
}

/** Runs the operator's command that sends requests to the other installation. */
async function runRoute(command: string, code: string): Promise<void> {
  const child = spawn(command, {
    shell: true,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, TENANT: code },
  });
  const [status] = (await once(child, 'exit')) as [number | null];
  if (status !== 0)
    throw new CommandFailed(
      `The tenant ${code} is served at the other installation, but "${command}" failed: route its requests there, then run the same command again.`,
    );
}

export const addCommands: AddCommands = (program, action) => {
  const { group, ofTenant, example } = commandGroup(
    program,
    'tenant',
    'whole tenants: export to a file, move to another installation, and remove',
  );

  ofTenant('export')
    .description('write all data of a tenant to a file, which contains personal data, but no readable secrets')
    .argument('<file>', 'a new file')
    .addHelpText('after', example('export demo.tenant.gz --mandator demo'))
    .action(
      action(async ({ context, print }, file: string, { mandator }: TenantOption) => {
        const { rows } = await cells.directly(context, (db) => cells.writeArchive(db, mandator, file));
        print(`Tenant ${mandator}: ${rows} rows written to ${file}.`, { Mandator: mandator, File: file, Rows: rows });
      }),
    );

  group
    .command('import')
    .description(
      'create the tenant of such a file, which must not exist here; the Pepper must be that of the installation that wrote the file',
    )
    .argument('<file>', 'a file that "tenant export" has written')
    .addHelpText('after', example('import demo.tenant.gz'))
    .action(
      action(async ({ context, print }, file: string) => {
        const { mandator, rows } = await cells.directly(context, (db) => cells.readArchive(db, file));
        print(`Tenant ${mandator}: ${rows} rows read from ${file}.`, { Mandator: mandator, File: file, Rows: rows });
      }),
    );

  ofTenant('freeze')
    .description('stop the writes of a tenant for some seconds; reads continue')
    .option('--seconds <n>', 'until it ends by itself', readSeconds, 60)
    .addHelpText('after', example('freeze --mandator demo --seconds 60'))
    .action(
      action(async ({ context, print }, { mandator, seconds }: TenantOption & { seconds: number }) => {
        await cells.directly(context, (db) => cells.freezeTenant(db, mandator, seconds));
        print(`Tenant ${mandator} is frozen for ${seconds} seconds, or until "roomgate tenant thaw".`, {
          Mandator: mandator,
          Seconds: seconds,
        });
      }),
    );

  ofTenant('thaw')
    .description('end a freeze')
    .option('--lost', 'the other installation of a move is permanently lost: serve the tenant here')
    .addHelpText('after', example('thaw --mandator demo'))
    .action(
      action(async ({ context, print }, { mandator, lost = false }: TenantOption & { lost?: boolean }) => {
        await cells.directly(context, (db) => cells.thawTenant(db, mandator, { isLost: lost }));
        print(`Tenant ${mandator} takes writes again.`, { Mandator: mandator });
      }),
    );

  ofTenant('move')
    .description('move a tenant to another installation while it is used; it cannot be written for some seconds')
    .requiredOption('--to <url>', 'required: the DatabaseUrl of the other installation', readDatabaseUrl)
    .option(
      '--from <url>',
      "the URL by which the other installation's PostgreSQL reaches this one's; DatabaseUrl if left out",
      readDatabaseUrl,
    )
    .option('--freeze-seconds <n>', 'for how long writes may be refused', readSeconds, 20)
    .option('--route <command>', 'a command that routes the requests of $TENANT to the other installation')
    .option('--undo', 'abandon an interrupted move: the tenant is served here again')
    .addHelpText(
      'after',
      example('move --mandator demo --to postgres://roomgate@b.example/roomgate --route ./route-to-b'),
    )
    .action(
      action(
        async (
          { context: { config, log }, print, json },
          options: TenantOption & { to: string; from?: string; freezeSeconds: number; route?: string; undo?: boolean },
        ) => {
          const { mandator: code, to, from = config.DatabaseUrl, freezeSeconds, route, undo } = options;
          const move = {
            code,
            fromDatabase: config.DatabaseUrl,
            toDatabase: to,
            fromUrl: from,
            freezeSeconds,
            route: async () => (route ? await runRoute(route, code) : undefined),
            say: (line: string) => void (json || tell(line)),
            log,
          };
          if (undo) {
            await cells.undoBetween(move);
            print(`Tenant ${code} is served here; its copy at the other installation was removed.`, {
              Mandator: code,
            });
            return;
          }
          const moved = await cells.moveBetween(move);
          const how = moved
            ? `${moved.rows} rows, it could not be written for ${(moved.stoppedMs / 1_000).toFixed(1)} s`
            : 'this command has completed what an earlier one had begun';
          print(
            `Tenant ${code} has moved: ${how}.${route ? '' : ' Route its requests to the other installation now.'}`,
            { Mandator: code, Rows: moved?.rows ?? null, StoppedMs: moved?.stoppedMs ?? null },
          );
        },
      ),
    );

  ofTenant('delete')
    .description('remove a tenant with all of its data, permanently')
    .option('--yes', 'really')
    .addHelpText('after', example('delete --mandator demo --yes'))
    .action(
      action(async ({ context, print }, { mandator, yes }: TenantOption & { yes?: boolean }) => {
        if (!yes)
          throw new CommandFailed(
            `This permanently removes all data of ${mandator}: export it first ("roomgate tenant export"), then repeat this with --yes.`,
          );
        const { rows } = await cells.directly(context, (db) => cells.deleteTenant(db, mandator));
        print(`Tenant ${mandator} is removed: ${rows} rows.`, { Mandator: mandator, Rows: rows });
      }),
    );
};
