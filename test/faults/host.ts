/** A second host, simulated on one machine: a network namespace whose link can be cut without notice. */
import { spawnSync } from 'node:child_process';
import { isAlive } from '../_util/postgres.ts';

const prefix = 'roomgate-faults-';

function ip(...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${error?.message ?? stderr.trim()}`);
  return stdout;
}

/** Removes what killed runs have left. */
function sweep(): void {
  for (const name of ip('netns', 'list').match(new RegExp(`^${prefix}\\d+`, 'gm')) ?? [])
    if (!isAlive(Number(name.slice(prefix.length)))) ip('netns', 'delete', name);
}

/** The host, or why there can be none here. */
export function openHost() {
  if (process.getuid?.() !== 0) return { missing: 'needs root' };
  const name = `${prefix}${process.pid}`;
  // Of the addresses for private use; each run has a network of its own.
  const network = `10.213.${process.pid % 256}`;
  const [ours, theirs] = [`rg${process.pid}a`, `rg${process.pid}b`];
  const within = ['ip', 'netns', 'exec', name];
  const add = () => {
    ip('netns', 'add', name);
    ip('link', 'add', ours, 'type', 'veth', 'peer', 'name', theirs, 'netns', name);
    ip('address', 'add', `${network}.1/24`, 'dev', ours);
    ip('link', 'set', ours, 'up');
    ip('-n', name, 'address', 'add', `${network}.2/24`, 'dev', theirs);
    for (const device of [theirs, 'lo']) ip('-n', name, 'link', 'set', device, 'up');
  };
  const remove = () => {
    // Its half of the link goes with it, and so does ours.
    spawnSync('ip', ['netns', 'delete', name]);
    spawnSync('ip', ['link', 'delete', ours]);
  };
  try {
    sweep();
    add();
  } catch (error) {
    remove();
    return { missing: (error as Error).message };
  }
  process.on('exit', remove);
  return {
    /** The command that runs a program on it. */
    within,
    /** Of this machine, as it sees it. */
    near: { address: `${network}.1`, network: `${network}.0/24` },
    /** Its own. */
    address: `${network}.2`,
    /** Cuts the link: no packet comes or goes, and nobody is notified. */
    cut: () => void ip('-n', name, 'link', 'set', theirs, 'down'),
    /** For the next host in its place. */
    mend: () => void ip('-n', name, 'link', 'set', theirs, 'up'),
    remove,
  };
}

export type Host = Exclude<ReturnType<typeof openHost>, { missing: string }>;
