/** What a device does besides showing: it stays awake, tells how it is, and takes a new version of the page. */
import { documents } from './frames.ts';
import type { Session } from './session.ts';

const versionOf = (page: Document) => page.querySelector('meta[name=version]')?.getAttribute('content') ?? '';

export function callGraphql(
  session: Session,
  query: string,
  variables: object = {},
  signal?: AbortSignal,
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
    ...(signal && { signal }),
  });
}

type WakeLocks = { wakeLock?: { request(kind: 'screen'): Promise<unknown> } };

/** Keeps the screen on for as long as the page is seen. */
export function stayAwake(): void {
  const ask = () => {
    if (document.visibilityState === 'visible')
      (navigator as WakeLocks).wakeLock?.request('screen').catch(() => {});
  };
  document.addEventListener('visibilitychange', ask);
  ask();
}

/** Percent, where the browser tells. */
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
    program: `roomgate page ${versionOf(document)}`,
    screen: `${innerWidth} x ${innerHeight}`,
    clockAheadSeconds: Math.round((Date.now() - now) / 1_000),
    battery: await battery(),
    reconnects,
    startedAt: new Date(now - performance.now()).toISOString(),
  };
  await callGraphql(session, documents.health, { input }).catch(() => {});
}

let lookedAt = 0;

/** Loads the page anew when the server has another version of it; asks at most every ten minutes. */
export async function renewPage(mayReload: () => boolean): Promise<void> {
  if (performance.now() - lookedAt < 600_000) return;
  lookedAt = performance.now();
  const response = await fetch(location.pathname, { cache: 'no-store' }).catch(() => null);
  if (!response?.ok) return;
  const theirs = /name="version" content="([^"]*)"/.exec(await response.text())?.[1];
  if (!theirs || theirs === versionOf(document)) return;
  const reload = () => (mayReload() ? location.reload() : setTimeout(reload, 20_000));
  reload();
}

type TrustedTypes = {
  createPolicy(name: string, rules: { createScriptURL(address: string): string }): typeof trusting;
};
const trusting = { createScriptURL: (address: string) => address };

let isKept = false;

/** Has the page and its files kept for a start without the network; where that is not possible, nothing is lost. */
export async function keepPage(): Promise<void> {
  const { serviceWorker } = navigator;
  if (isKept || !serviceWorker || serviceWorker.controller) return;
  isKept = true;
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  const rules = trustedTypes ? trustedTypes.createPolicy('worker', trusting) : trusting;
  const worker = rules.createScriptURL(new URL('./worker.ts', import.meta.url).href);
  await serviceWorker.register(worker, { scope: './' });
  // They were loaded before there was a worker to keep them.
  const files = await caches.open('roomgate pages');
  const loaded = performance.getEntriesByType('resource').map(({ name }) => name);
  await files.addAll([location.pathname, ...loaded.filter((name) => /\/assets\//.test(name))]);
}
