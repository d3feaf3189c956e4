/** Runs command lines in the process of the test, and returns what they print. */
import { expect, jest } from '@jest/globals';
import { Command } from 'commander';
import type { AddCommands } from '../../src/cli/command.ts';
import { createProgram, type Host, runProgram } from '../../src/cli/program.ts';
import type { Context } from '../../src/context.ts';

const unused = () => Promise.reject(new Error('not part of this test'));

/** A whole command line, without `roomgate`. */
export async function runCommand(context: Context, ...args: string[]) {
  const host: Host = {
    config: () => context.config,
    open: async () => ({ context, close: async () => {} }),
    serve: unused,
    migrate: unused,
    rehearse: unused,
    backup: unused,
    restore: unused,
    diagnose: async () => [{ check: 'Database', level: 'ok', text: 'answers' }],
  };
  const printed = { out: '', err: '' };
  const spies = [
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => Boolean((printed.out += String(text)))),
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean((printed.err += String(text)))),
  ];
  try {
    const code = await runProgram(createProgram(host), ['node', 'roomgate', ...args]);
    return { code, ...printed };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** One of the commands of a room: the text that it prints, and the record for `--json`. */
export async function runOne(
  addCommands: AddCommands,
  context: Context,
  ...args: string[]
): Promise<{ text: string; record: unknown }> {
  const printed: { text: string; record: unknown }[] = [];
  const program = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  addCommands(
    program,
    (work) =>
      (...commandArgs) =>
        work({ context, json: false, print: (text, record) => void printed.push({ text, record }) }, ...commandArgs),
  );
  await program.parseAsync(args, { from: 'user' });
  expect(printed).toHaveLength(1);
  return printed[0]!;
}
