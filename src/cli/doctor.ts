import { type Config, ConfigError } from '../config.ts';
import type { Context } from '../context.ts';
import type { Finding } from '../finding.ts';
import { fetchBounded } from '../http/safe-fetch.ts';
import { inOneLine } from '../printing.ts';
import { CommandFailed, type Output } from './command.ts';

/** What the doctor examines: the settings as written, and the database that they name. */
export type Patient = {
  config(): Config;
  open(): Promise<{ context: Context; close(): Promise<void> }>;
  diagnose(context: Context): Promise<Finding[]>;
};

const answerTimeout = 5_000;
const mostBytes = 1_048_576;

function examineSettings({ DatabaseUrl, Pepper, warnings }: Config): Finding[] {
  const settings: Finding =
    warnings.length === 0
      ? { check: 'Settings', level: 'ok', text: 'read' }
      : {
          check: 'Settings',
          level: 'warning',
          text: warnings.join('; '),
          remedy:
            'This is fine if another product has put them there; otherwise look the names up in docs/settings.md.',
        };
  if (Pepper) return [settings, { check: 'Pepper', level: 'ok', text: 'set' }];
  if (!DatabaseUrl)
    return [
      settings,
      { check: 'Pepper', level: 'ok', text: 'kept with the data of the local PostgreSQL' },
      {
        check: 'DatabaseUrl',
        level: 'warning',
        text: 'not set: the local PostgreSQL is used, which is not backed up automatically',
        remedy:
          'Run "roomgate backup" regularly; for production set DatabaseUrl to a PostgreSQL of your own, and Pepper.',
      },
    ];
  return [
    settings,
    {
      check: 'Pepper',
      level: 'fault',
      text: 'not set: PINs and signing keys cannot be stored',
      remedy:
        'Set Pepper to at least 32 random characters (openssl rand -base64 32), the same on every machine, and never change it.',
    },
  ];
}

/** @throws when the request fails or its answer is not JSON */
async function readJson<T>(address: string): Promise<{ status: number; body: T }> {
  const init = { signal: AbortSignal.timeout(answerTimeout) };
  const { status, bytes } = await fetchBounded(new URL(address), init, mostBytes);
  return { status, body: JSON.parse(bytes.toString('utf8')) as T };
}

/** Asks the running server for its state, which includes its worker. */
async function examineServer({ IdpUrl }: Config): Promise<Finding[]> {
  let status: number;
  let body: { Status?: string; Checks?: Record<string, string> };
  try {
    ({ status, body } = await readJson<typeof body>(`${IdpUrl}/readyz`));
  } catch {
    return [
      {
        check: 'Server',
        level: 'warning',
        text: `no roomgate server answers at ${IdpUrl}`,
        remedy: 'Start it with "roomgate serve", or set IdpUrl to its address.',
      },
    ];
  }
  const checks = Object.entries(body.Checks ?? {});
  const bad = checks.filter(([, state]) => state !== 'Healthy').map(([name]) => name);
  if (status === 200 && body.Checks?.['Writes'] === 'Degraded')
    return [
      {
        check: 'Server',
        level: 'fault',
        text: `ready at ${IdpUrl}, but within the last minute PostgreSQL has refused what it wanted to write`,
        remedy: 'See "Writes" above, and "PostgreSQL refuses writes" in its log.',
      },
    ];
  if (status === 200) {
    const worker = 'Worker' in (body.Checks ?? {}) ? ', and its worker runs' : '; it has no worker of its own';
    return [{ check: 'Server', level: 'ok', text: `ready at ${IdpUrl}${worker}` }];
  }
  return [
    {
      check: 'Server',
      level: 'fault',
      text: `${IdpUrl}/readyz answers ${status}: ${bad.join(', ') || body.Status || 'no reason given'}`,
      remedy: 'Its log names the cause.',
    },
  ];
}

/** Checks that an outside identity provider answers at the configured URL, and names the same issuer. */
async function examineProvider({ IdentityProvider: { Mode, Authority } }: Config): Promise<Finding[]> {
  if (Mode !== 'External') return [];
  const address = `${Authority?.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const check = 'Provider';
  const remedy = 'Set IdentityProvider.Authority to the issuer, spelled as the provider spells it.';
  try {
    const { issuer } = (await readJson<{ issuer?: string }>(address)).body;
    if (issuer === Authority) return [{ check, level: 'ok', text: `answers at ${Authority}` }];
    return [{ check, level: 'fault', text: `${address} names the issuer ${issuer}`, remedy }];
  } catch {
    return [{ check, level: 'fault', text: `no discovery document at ${address}`, remedy }];
  }
}

async function examine(patient: Patient): Promise<Finding[]> {
  let config: Config;
  try {
    config = patient.config();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split('\n').map((text) => ({ check: 'Settings', level: 'fault', text }));
  }
  const settings = examineSettings(config);
  const server = [...(await examineProvider(config)), ...(await examineServer(config))];
  try {
    const { context, close } = await patient.open();
    try {
      return [...settings, ...(await patient.diagnose(context)), ...server];
    } finally {
      await close();
    }
  } catch (error) {
    const text = `cannot be opened: ${(error as Error).message}`;
    return [...settings, { check: 'Database', level: 'fault', text }, ...server];
  }
}

/** Examines everything that the service needs, and prints a line for each finding. @throws CommandFailed for a fault */
export async function runDoctor(patient: Patient, { print }: Output): Promise<void> {
  const findings = await examine(patient);
  const lines = findings.map(({ check, level, text, remedy }) => {
    const line = `${level.padEnd(8)} ${check.padEnd(14)} ${inOneLine(text)}`;
    return remedy ? `${line}\n${' '.repeat(24)}-> ${inOneLine(remedy)}` : line;
  });
  const record = findings.map(({ check, level, text, remedy = null }) => ({
    Check: check,
    Level: level,
    Text: text,
    Remedy: remedy,
  }));
  print(lines.join('\n'), record);
  const faults = findings.filter(({ level }) => level === 'fault').length;
  if (faults > 0) throw new CommandFailed(`${faults} ${faults === 1 ? 'fault' : 'faults'} found.`);
}
