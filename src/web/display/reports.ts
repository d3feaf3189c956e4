/** Problems of the room that are reported at the door. Each is kept until the server has it, and is stored there once. */
import { randomKey } from '../random-key.ts';
import { longestWait, retryAfterOf } from '../retry-after.ts';
import { callGraphql } from './device.ts';
import { documents } from './frames.ts';
import type { Text } from './german.ts';
import { memory, type Session, within } from './session.ts';

export type ProblemKind = keyof Text['problems'];
type Report = { key: string; resourceId: string; kind: ProblemKind; reportedAt: string };
/** `kept`: it is sent later. `full`: too many are kept already. */
export type Outcome = 'sent' | 'kept' | 'refused' | 'full';
type Answer = {
  data?: { report?: { __typename?: string; code?: string; retryAfterSeconds?: number | null } | null } | null;
};

export type Reports = {
  /** @param now the corrected time */
  send(kind: ProblemKind, now: number): Promise<Outcome>;
  /** Sends what was kept. May be called at any time. */
  retry(): void;
};

export const mostKept = 20;
const retryAfterMs = 30_000;

export function openReports(session: Session): Reports {
  const storageKey = `roomgate ${session.tenant} problems`;
  const kept: Report[] = readKept();
  let sending: Promise<Map<string, Outcome>> | undefined;
  let retryAt = 0;
  /** The end of the pause that the server asked for. */
  let askedUntil = 0;

  function readKept(): Report[] {
    try {
      return (JSON.parse(memory.get(storageKey) ?? '[]') as Report[]).slice(0, mostKept);
    } catch {
      return [];
    }
  }

  const keep = () => memory.set(storageKey, kept.length > 0 ? JSON.stringify(kept) : null);

  function heed(seconds: number | null | undefined): void {
    if (seconds && seconds > 0) askedUntil = performance.now() + Math.min(seconds, longestWait) * 1_000;
  }

  async function deliver(report: Report): Promise<Outcome> {
    const response = await callGraphql(session, documents.report, { input: report }, within(8_000)).catch(() => null);
    heed(response && retryAfterOf(response.headers));
    if (!response?.ok) return 'kept';
    const { data } = (await response.json().catch(() => ({}))) as Answer;
    if (data?.report?.__typename === 'RoomProblem') return 'sent';
    if (data?.report?.code && data.report.code !== 'LimitExceeded') return 'refused';
    heed(data?.report?.retryAfterSeconds);
    return 'kept';
  }

  /** Sends the kept reports in order, until one fails. */
  async function sendKept(): Promise<Map<string, Outcome>> {
    const outcomes = new Map<string, Outcome>();
    for (let report = kept[0]; report; report = kept[0]) {
      const outcome = await deliver(report);
      retryAt = performance.now() + retryAfterMs;
      if (outcome === 'kept') break;
      outcomes.set(report.key, outcome);
      kept.shift();
      keep();
    }
    return outcomes;
  }

  const flush = () => (sending ??= sendKept().finally(() => (sending = undefined)));

  return {
    async send(kind, now) {
      if (kept.length >= mostKept) return 'full';
      const key = randomKey();
      kept.push({ key, resourceId: session.id, kind, reportedAt: new Date(now).toISOString() });
      keep();
      if (performance.now() < askedUntil) return 'kept';
      return (await flush()).get(key) ?? 'kept';
    },
    retry() {
      if (kept.length > 0 && performance.now() >= Math.max(retryAt, askedUntil)) void flush();
    },
  };
}
