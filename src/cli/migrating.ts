/** The command that brings the schema up to date. */
import type { Command } from 'commander';
import type { Rehearsed } from '../finding.ts';
import type { Output } from './command.ts';
import { formatTable } from './output.ts';

/** The services of main.js for this command. */
export type Migrating = {
  /** Brings the schema up to date. @returns the names of the applied migrations */
  migrate(): Promise<string[]>;
  /** The locks that migrating will take, found without changing anything. */
  rehearse(): Promise<Rehearsed[]>;
};

const megabytes = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MiB`;

export function addMigrate(program: Command, { migrate, rehearse, output }: Migrating & { output(): Output }): void {
  program
    .command('migrate')
    .description('bring the database schema up to date')
    .option('--dry-run', 'only print what would be applied, which tables each migration locks, and how large they are')
    .addHelpText('after', 'Example:\n  $ roomgate migrate')
    .action(async ({ dryRun = false }: { dryRun?: boolean }) => {
      if (!dryRun) {
        const applied = await migrate();
        const text = applied.length > 0 ? `Applied ${applied.join(', ')}.` : 'Already current.';
        output().print(text, { Applied: applied });
        return;
      }
      const pending = await rehearse();
      const lines = pending.flatMap(({ migration, locks }) =>
        locks.length === 0
          ? [[migration, 'nothing', '', '', '', '']]
          : locks.map(({ table, mode, holdsUp, rows, bytes }, at) => [
              at === 0 ? migration : '',
              table,
              mode,
              holdsUp,
              rows ?? '?',
              megabytes(bytes),
            ]),
      );
      const head = ['Migration', 'Locks', 'Mode', 'Holds up', 'Rows', 'Size'];
      output().print(pending.length === 0 ? 'Already current.' : formatTable(head, lines), {
        Pending: pending.map(({ migration, locks }) => ({
          Migration: migration,
          Locks: locks.map(({ table, mode, holdsUp, rows, bytes }) => ({
            Table: table,
            Mode: mode,
            HoldsUp: holdsUp,
            Rows: rows,
            Bytes: bytes,
          })),
        })),
      });
    });
}
