/** The commands for backup and recovery. */
import type { Writable } from 'node:stream';
import type { Command } from 'commander';
import { ConfigError } from '../config.ts';
import type { Context } from '../context.ts';
import { InvalidInput } from '../errors.ts';
import type { Output } from './command.ts';
import { tell } from './output.ts';

type PepperContext = Pick<Context, 'db' | 'config'>;

/** The services of main.js for these commands. */
export type Keeper = {
  /**
   * Writes a backup of the database.
   * @param judge tells whether the Pepper is that of the database
   * @returns among others `pepper`, the file that holds the Pepper, if one does
   */
  backup(
    version: string,
    target: string | Writable,
    judge: (held: PepperContext) => Promise<boolean>,
  ): Promise<{ rows: number; pepper: string | undefined; isRight: boolean }>;
  /**
   * Replaces the database by that of a backup.
   * @param check examines the restored database before the replacement, and refuses it by throwing
   */
  restore(asked: {
    file: string;
    force: boolean;
    check(restored: PepperContext): Promise<void>;
  }): Promise<{ rows: number; Version: string; WrittenAt: string }>;
};

type Parts = Keeper & {
  version: string;
  output(): Output;
  hasRightPepper(held: PepperContext): Promise<boolean>;
  forgetPepper(held: PepperContext): Promise<void>;
};

const otherPepper =
  'Pepper: is not that of the backup, so that no PIN, token or display would be valid. Nothing was changed. Set Pepper to that of the installation that wrote the backup (without DatabaseUrl: put its file "pepper" back); if it is lost, --forget-pepper restores everything but the secrets';

export function addRecovery(program: Command, parts: Parts): void {
  program
    .command('backup')
    .description('write the whole database to a file while it is used; the file contains personal data, but no Pepper')
    .argument('<file>', 'a new file; "-" for standard output')
    .addHelpText('after', 'Example:\n  $ roomgate backup roomgate.backup')
    .action(async (file: string) => {
      const output = parts.output();
      const piped = file === '-';
      if (piped && output.json)
        throw new InvalidInput('--json cannot be used while the backup goes to standard output.');
      const target = piped ? process.stdout : file;
      const { rows, pepper, isRight } = await parts.backup(parts.version, target, parts.hasRightPepper);
      const place = pepper ? `the file ${pepper}` : 'the setting Pepper';
      const kept = isRight
        ? `Keep ${place} too, in another place: without it no secret in the backup can be used.`
        : `No secret in the backup can be used with ${place}, which is not the Pepper of this database: find the right one, and keep it in another place.`;
      const text = `${rows} rows written${piped ? '' : ` to ${file}`}. ${kept}`;
      if (piped) tell(text);
      else output.print(text, { File: file, Rows: rows, PepperFile: pepper ?? null });
    });

  program
    .command('restore')
    .description('restore the database from a backup; nothing else may use it meanwhile')
    .argument('<file>', 'a file written by "roomgate backup", of this release or an earlier one')
    .option('--force', 'discard what is in the database now')
    .option(
      '--forget-pepper',
      'the Pepper of the backup is lost: its PINs, tokens and other secrets are no longer valid',
    )
    .addHelpText('after', 'Example:\n  $ roomgate restore roomgate.backup')
    .action(
      async (file: string, { force = false, forgetPepper = false }: { force?: boolean; forgetPepper?: boolean }) => {
        const { rows, Version, WrittenAt } = await parts.restore({
          file,
          force,
          async check(restored) {
            if (forgetPepper) await parts.forgetPepper(restored);
            if (!(await parts.hasRightPepper(restored))) throw new ConfigError(otherPepper);
          },
        });
        parts.output().print(`${rows} rows restored, as of ${WrittenAt} (roomgate ${Version}).`, {
          File: file,
          Rows: rows,
          WrittenAt,
          Version,
        });
      },
    );
}
