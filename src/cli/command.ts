import fs from 'node:fs/promises';
import { type Command, Option } from 'commander';
import type { Context } from '../context.ts';
import { readJsonText } from '../json-text.ts';
import { readId } from '../storable.ts';

/** The output of a command. */
export type Output = {
  /** Whether `--json` was given. */
  json: boolean;
  /** Prints `text` or, with `--json`, the record as one line of JSON. */
  print(text: string, record: unknown): void;
};

/** The tools of a command that opens the database itself. */
export type Cli = Output & { context: Context };

/**
 * Wraps a command's work: opens the context before it and closes it afterwards.
 * @param makesSecrets whether the command makes secrets, which fixes the Pepper of the database for all processes
 */
export type Action = <Args extends unknown[]>(
  work: (cli: Cli, ...args: Args) => Promise<void>,
  options?: { makesSecrets: boolean },
) => (...args: Args) => Promise<void>;

/** What a room's `cli.ts` exports: adds its commands to the program. */
export type AddCommands = (program: Command, action: Action) => void;

/** The option of a command that works on one tenant. If it is left out, `createProgram` sets it to the only tenant. */
export const tenantOption = () =>
  new Option('--mandator <code>', 'the tenant; optional if there is only one').argParser((code) => code.toLowerCase());
export type TenantOption = { mandator: string };

/** Makes a group of commands. @returns what adds a command on one tenant to it, and shows an example of a call */
export function commandGroup(program: Command, name: string, description: string) {
  const group = program.command(name).description(description);
  return {
    group,
    ofTenant: (command: string) => group.command(command).addOption(tenantOption()),
    example: (call: string) => `Example:\n  $ roomgate ${name} ${call}`,
  };
}

/** A user's mistake or a failed result. Its message is printed without a stack. */
export class CommandFailed extends Error {}

/** @param what has the id; `list` is the command that lists the ids. @throws CommandFailed for what is no id */
export function readIdOf(what: string, list: string, text: string): number {
  const id = readId(text);
  if (id === 0) throw new CommandFailed(`${text} is not the id of a ${what}; see ${list}.`);
  return id;
}

const reasons: Record<string, string> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'permission is denied',
};

export function unreadableFile(file: string, { code = '', message }: NodeJS.ErrnoException): CommandFailed {
  return new CommandFailed(`${file} cannot be read: ${reasons[code] ?? message}.`);
}

/** @throws CommandFailed if it cannot be read, or is not JSON */
export async function readJsonFile(file: string): Promise<unknown> {
  const text = await fs.readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw unreadableFile(file, error);
  });
  try {
    return readJsonText(text);
  } catch (error) {
    throw new CommandFailed(`${file}: is not JSON: ${(error as Error).message}`);
  }
}
