import { once } from 'node:events';
import net from 'node:net';
import { type Config, ConfigError, ownRoot } from '../config.ts';
import type { Context } from '../context.ts';
import type { Finding, Judgment } from '../finding.ts';
import { codeOf } from '../flow/database-errors.ts';
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

/** @throws when the request fails */
async function fetchFrom(address: string) {
  const { status, headers, bytes } = await fetchBounded(
    new URL(address),
    { signal: AbortSignal.timeout(answerTimeout) },
    mostBytes,
  );
  return { status, headers, text: bytes.toString('utf8') };
}

type Readiness = { status: number; body: { Status: string; Checks: Record<string, string> } };

/** The answer of a server to /readyz; undefined if no roomgate answers there, or a proxy hides /readyz. */
async function readReadiness(root: string): Promise<Readiness | undefined> {
  try {
    const { status, text } = await fetchFrom(`${root}/readyz`);
    const body = JSON.parse(text);
    return body.Checks ? { status, body } : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a server answers there, perhaps through a proxy. `Closes`: it closes the connection without an answer. */
async function askHealth(root: string): Promise<'Serves' | 'Closes' | 'Late' | 'None'> {
  try {
    return (await fetchFrom(`${root}/healthz`)).headers.has('Roomgate-Version') ? 'Serves' : 'None';
  } catch (error) {
    if ((error as Error).name === 'TimeoutError') return 'Late';
    return codeOf(error) === 'ECONNRESET' ? 'Closes' : 'None';
  }
}

/** Whether connections are accepted, even if requests are not answered. An address of another machine may drop them. */
async function isAccepting({ Host, Port }: Config): Promise<boolean> {
  const signal = AbortSignal.timeout(answerTimeout);
  const socket = net.connect(Port, Host).on('error', () => {});
  try {
    await once(socket, 'connect', { signal });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** What the answer to /readyz says, which includes the worker of the process. */
function judgeReadiness(root: string, { status, body: { Status, Checks } }: Readiness): Judgment {
  if (status === 200 && Checks['Writes'] === 'Degraded')
    return {
      level: 'fault',
      text: `ready at ${root}, but within the last minute PostgreSQL has refused what it wanted to write`,
      remedy: 'See "Writes" above, and "PostgreSQL refuses writes" in its log.',
    };
  if (status === 200) {
    const worker = 'Worker' in Checks ? ', and its worker runs' : '; it has no worker of its own';
    return { level: 'ok', text: `ready at ${root}${worker}` };
  }
  const bad = Object.keys(Checks).filter((name) => Checks[name] !== 'Healthy');
  return {
    level: 'fault',
    text: `${root}/readyz answers ${status}: ${bad.join(', ') || Status}`,
    remedy: 'Its log names the cause.',
  };
}

/** Asks the server of this machine, and only then the public address, which may lead to another one. */
async function examineServer(config: Config): Promise<Judgment> {
  const own = ownRoot(config);
  const roots = [...new Set([own, config.IdpUrl])];
  // The port that the system has chosen for Port 0 is not known here.
  const askable = roots.filter((root) => new URL(root).port !== '0');
  let serving: string | undefined;
  for (const root of askable) {
    const readiness = await readReadiness(root);
    if (readiness) {
      const judged = judgeReadiness(root, readiness);
      return root === own ? judged : { ...judged, text: `${judged.text}; no server answers at ${own}` };
    }
    const health = await askHealth(root);
    if (root === own && (health === 'Closes' || (health === 'Late' && (await isAccepting(config)))))
      return {
        level: 'fault',
        text: `${own} accepts connections, but does not answer`,
        remedy:
          'Its log may name the cause. If it has no file descriptors left (as many in /proc/PID/fd as its limit), raise the limit; if it hangs, restart it.',
      };
    if (health === 'Serves') serving ??= root;
  }
  if (serving !== undefined)
    return {
      level: 'warning',
      text: `answers at ${serving}, which does not publish /readyz: its state is unknown`,
      remedy: 'Run the doctor beside a server, with the Host and Port of that server.',
    };
  return {
    level: 'warning',
    text: `no roomgate server answers at ${roots.join(' or ')}`,
    remedy:
      'Start one with "roomgate serve". If one runs, run the doctor beside it, with the Host and Port of that server.',
  };
}

/** Checks that an outside identity provider answers at the configured URL, and names the same issuer. */
async function examineProvider({ IdentityProvider: { Mode, Authority } }: Config): Promise<Finding[]> {
  if (Mode !== 'External') return [];
  const address = `${Authority?.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const check = 'Provider';
  const remedy = 'Set IdentityProvider.Authority to the issuer, spelled as the provider spells it.';
  try {
    const { issuer } = JSON.parse((await fetchFrom(address)).text) as { issuer?: string };
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
    const remedy = 'Correct it in the file or the variable; docs/settings.md has all settings.';
    return error.message.split('\n').map((text) => ({ check: 'Settings', level: 'fault', text, remedy }));
  }
  const settings = examineSettings(config);
  const server = [...(await examineProvider(config)), { check: 'Server', ...(await examineServer(config)) }];
  try {
    const { context, close } = await patient.open();
    try {
      return [...settings, ...(await patient.diagnose(context)), ...server];
    } finally {
      await close();
    }
  } catch (error) {
    const text = `cannot be opened: ${(error as Error).message}`;
    const remedy = config.DatabaseUrl
      ? 'Correct what it names; docs/settings.md has all settings.'
      : 'Remove the cause that it names, or set DatabaseUrl to a PostgreSQL of your own.';
    return [...settings, { check: 'Database', level: 'fault', text, remedy }, ...server];
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
