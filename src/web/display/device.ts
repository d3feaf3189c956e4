/** What a device does besides showing rooms: it stays awake, reports its health, and loads new versions of the page. */
import { documents } from './frames.ts';
import { type Session, within } from './session.ts';

/** The version of this page and all its files. */
export const version = () => document.querySelector('meta[name=version]')?.getAttribute('content') ?? '';

export function callGraphql(
  session: Session,
  query: string,
  variables: object = {},
  signal = within(20_000),
): Promise<Response> {
  return fetch('../graphql', {
    method: 'POST',
    cache: 'no-store',
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${session.token}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ query, variables }),
    signal,
  });
}

type WakeLocks = { wakeLock?: { request(kind: 'screen'): Promise<EventTarget> } };

/** Keeps the screen on while the page is visible. */
export function stayAwake(): void {
  const ask = () => {
    if (document.visibilityState === 'visible')
      (navigator as WakeLocks).wakeLock?.request('screen').then(
        // A device with a low battery releases the lock.
        (lock) => lock.addEventListener('release', () => setTimeout(ask, 60_000), { once: true }),
        () => {},
      );
  };
  document.addEventListener('visibilitychange', ask);
  ask();
}

/** The charge in percent, if the browser tells it. */
async function battery(): Promise<number | null> {
  const { getBattery } = navigator as { getBattery?: () => Promise<{ level: number }> };
  const level = await getBattery?.call(navigator).then(
    (it) => it.level,
    () => null,
  );
  return typeof level === 'number' ? Math.round(level * 100) : null;
}

/** @param now the corrected time @param reconnects how often the stream was lost */
export async function reportHealth(session: Session, now: number, reconnects: number): Promise<void> {
  const input = {
    program: `roomgate page ${version()}`,
    screen: `${innerWidth} x ${innerHeight}`,
    clockAheadSeconds: Math.round((Date.now() - now) / 1_000),
    battery: await battery(),
    reconnects,
    startedAt: new Date(now - performance.now()).toISOString(),
  };
  await callGraphql(session, documents.health, { input }).catch(() => {});
}

/** Every 5 to 15 minutes at random: all signs of a house may have started at one moment. */
const nextLook = () => performance.now() + 600_000 * (0.5 + Math.random());
let lookAt = nextLook();
let isOld = false;

/** Loads the page anew when the server has another version of it. May be called at any time. */
export async function renewPage(mayReload: () => boolean): Promise<void> {
  if (isOld || performance.now() < lookAt) return;
  lookAt = nextLook();
  const page = await fetch(location.pathname, { cache: 'no-store', signal: within(20_000) })
    .then((response) => (response.ok ? response.text() : ''))
    .catch(() => '');
  const theirs = /name="version" content="([^"]*)"/.exec(page)?.[1];
  if (!theirs || theirs === version()) return;
  isOld = true;
  const reload = () => (mayReload() ? location.reload() : setTimeout(reload, 20_000));
  reload();
}

type TrustedTypes = {
  createPolicy(name: string, rules: { createScriptURL(address: string): string }): typeof trusting;
};
const trusting = { createScriptURL: (address: string) => address };

let rules: typeof trusting | undefined;
let isKept = false;

/** Caches the page and its files for a start without network, where the browser can. */
export async function keepPage(): Promise<void> {
  const { serviceWorker } = navigator;
  if (isKept || !serviceWorker || serviceWorker.controller) return;
  isKept = true;
  // After a failure of the network it is tried again.
  await keepFiles(serviceWorker).catch(() => (isKept = false));
}

async function keepFiles(workers: ServiceWorkerContainer): Promise<void> {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  // A policy can be created only once under a name.
  rules ??= trustedTypes ? trustedTypes.createPolicy('worker', trusting) : trusting;
  await workers.register(rules.createScriptURL(new URL('./worker.ts', import.meta.url).href), {
    scope: './',
  });
  // These files were loaded before the worker could cache them.
  const files = await caches.open('roomgate pages');
  const loaded = performance.getEntriesByType('resource').map(({ name }) => name);
  const names = [location.pathname, ...loaded.filter((name) => /\/assets\//.test(name))];
  // Calls that hang would block others: browsers open few connections to a server.
  const signal = within(20_000);
  await files.addAll(names.map((name) => new Request(name, { signal })));
}
