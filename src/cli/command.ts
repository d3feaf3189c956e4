import { type Command, Option } from 'commander';
import type { Context } from '../context.ts';

/** What every command has: one way to say something. */
export type Output = {
  /** Whether `--json` was given. */
  json: boolean;
  /** Prints `text` for people, or with `--json` the record as one line of JSON. */
  print(text: string, record: unknown): void;
};

/** What a command works with that opens the database itself. */
export type Cli = Output & { context: Context };

/**
 * Wraps a command's work: opens settings and context first, closes them after, and turns an error into one line and exit code 1.
 * @param makesSecrets that what it makes hangs on the Pepper, which then is the one of the database for all others
 */
export type Action = <Args extends unknown[]>(
  work: (cli: Cli, ...args: Args) => Promise<void>,
  options?: { makesSecrets: boolean },
) => (...args: Args) => Promise<void>;

/** What a room's `cli.ts` exports: adds its commands to the program. */
export type AddCommands = (program: Command, action: Action) => void;

/** Of a command that works on one tenant: where it is left out, `createProgram` puts in the only tenant there is. */
export const tenantOption = () =>
  new Option('--mandator <code>', 'the tenant; may be left out where there is only one');

/** A user's mistake or a failed result: its message is printed as it stands, without a stack. */
export class CommandFailed extends Error {}

const reasons: Record<string, string> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'permission is denied',
};

export function unreadableFile(file: string, { code = '', message }: NodeJS.ErrnoException): CommandFailed {
  return new CommandFailed(`${file} cannot be read: ${reasons[code] ?? message}.`);
}
