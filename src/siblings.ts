/** The processes that share one port (setting `Processes`). What one of them asks, all of them answer; supervisor.ts carries it. */
import cluster from 'node:cluster';

/** In the environment of a process that has siblings: which of them it is, from 1 on. */
export const placeVariable = 'ROOMGATE_PLACE';

/** What a process tells its supervisor. */
export type ProcessSays =
  | { kind: 'ready'; port: number }
  | { kind: 'ask'; id: number; question: string }
  | { kind: 'answer'; id: number; answer: unknown };

/** What the supervisor tells a process. */
export type SupervisorSays =
  | { kind: 'asked'; id: number; question: string }
  | { kind: 'answered'; id: number; answers: unknown[] };

export type Siblings = {
  /** Whether this is the one that works on the queue (Role=All) and greets on standard output. */
  isFirst: boolean;
  /** Tells the supervisor that this process serves. */
  announce(port: number): void;
  /** Asks all of them, this process too. @returns the answers that came in time */
  ask<Answer>(question: string): Promise<Answer[]>;
  /** Answers a question from now on; while it throws, this process gives no answer. */
  answer(question: string, read: () => unknown): void;
};

/** @returns undefined in a process that is alone */
export function openSiblings(): Siblings | undefined {
  if (!cluster.isWorker) return undefined;
  const readers = new Map<string, () => unknown>();
  const waiting = new Map<number, (answers: unknown[]) => void>();
  let asked = 0;
  // Without its supervisor this process ends; what cannot be sent is for nobody.
  const tell = (told: ProcessSays) => process.send?.(told, undefined, undefined, () => {});

  async function answerTo(id: number, question: string): Promise<void> {
    const read = readers.get(question);
    if (!read) return;
    try {
      tell({ kind: 'answer', id, answer: await read() });
    } catch {
      // The supervisor goes on without it.
    }
  }
  process.on('message', (heard: SupervisorSays) => {
    if (heard.kind === 'asked') void answerTo(heard.id, heard.question);
    if (heard.kind === 'answered') {
      waiting.get(heard.id)?.(heard.answers);
      waiting.delete(heard.id);
    }
  });
  return {
    isFirst: process.env[placeVariable] === '1',
    announce: (port) => tell({ kind: 'ready', port }),
    ask<Answer>(question: string) {
      const { promise, resolve } = Promise.withResolvers<unknown[]>();
      waiting.set(++asked, resolve);
      tell({ kind: 'ask', id: asked, question });
      return promise as Promise<Answer[]>;
    },
    answer: (question, read) => void readers.set(question, read),
  };
}
