/** The command-line options of the benches. */
import path from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';

type Known<Value> = {
  about: string;
  read: (text: string) => Value;
  usual: string;
  /** In its place with --smoke. */
  smoke: string;
};
type Values<All> = { [Name in keyof All]: All[Name] extends Known<infer Value> ? Value : never };

/** @returns reads a whole number that is not below `least` */
export const whole =
  (least = 1) =>
  (text: string): number => {
    if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text);
    throw new InvalidArgumentError(`It must be a whole number from ${least} on.`);
  };

export function seconds(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text) && Number(text) > 0) return Number(text);
  throw new InvalidArgumentError('It must be a number of seconds, such as 0.5.');
}

/** @returns reads values that stand between commas; no text, no values */
export const list =
  <Value>(read: (text: string) => Value) =>
  (text: string): Value[] =>
    text === '' ? [] : text.split(',').map((part) => read(part));

export const oneOf =
  <Name extends string>(...names: Name[]) =>
  (text: string): Name => {
    const found = names.find((name) => name === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`There are ${names.join(', ')}.`);
  };

/** @returns reads a part of some of the names */
export const partOf =
  (...names: string[]) =>
  (text: string): string => {
    if (names.some((name) => name.includes(text))) return text;
    throw new InvalidArgumentError(`It must be a part of one of: ${names.join(', ')}.`);
  };

/**
 * The options of the bench that runs. With --smoke those that are not given are tiny. Ends the process with what is wrong,
 * and the options that there are, where they cannot be read.
 * @param findFault of values that are right by themselves and do not go together
 */
export function readOptions<All extends Record<string, Known<unknown>>>(
  known: All,
  findFault: (values: Values<All>) => string | undefined = () => undefined,
): Values<All> & { smoke: boolean } {
  const name = path.parse(process.argv[1] ?? '').name;
  const command = new Command(`npm run bench:${name} --`)
    .option('--smoke', 'all steps, with next to nothing to do: shows that the bench runs', false)
    .showHelpAfterError();
  for (const [option, { about, read, usual }] of Object.entries(known))
    command.addOption(new Option(`--${option} <value>`, about).argParser(read).default(read(usual), usual || 'none'));
  const given = command.parse().opts<Values<All> & { smoke: boolean }>();
  const small = Object.entries(known)
    .filter(([option]) => given.smoke && command.getOptionValueSource(option) === 'default')
    .map(([option, { read, smoke }]) => [option, read(smoke)]);
  const values = { ...given, ...Object.fromEntries(small) };
  const fault = findFault(values);
  if (fault) command.error(`error: ${fault}`);
  return values;
}
