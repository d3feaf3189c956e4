/**
 * The processes that share one port (setting `Processes`). All of them answer a question of one of them; supervisor.ts
 * passes the messages on.
 */
import cluster from 'node:cluster';

/** The environment variable that numbers the processes, from 1 on. */
export const placeVariable = 'ROOMGATE_PLACE';

/** How long a process waits for the answers to its question: less than a check of /readyz may take. */
export const answersWithinMs = 1_500;

/** Messages from a process to its supervisor. */
export type ProcessSays =
  | { kind: 'ready'; port: number }
  | { kind: 'ask'; id: number; question: string }
  | { kind: 'answer'; id: number; answer: unknown };

/** Messages from the supervisor to a process. */
export type SupervisorSays =
  | { kind: 'asked'; id: number; question: string }
  | { kind: 'answered'; id: number; answers: unknown[] };

export type Siblings = {
  /** Whether this process works on the queue (Role=All) and prints the greeting. */
  isFirst: boolean;
  /** Tells the supervisor that this process is ready. */
  announce(port: number): void;
  /** Asks all processes, including this one. @returns the answers that came in time */
  ask<Answer>(question: string): Promise<Answer[]>;
  /** Answers a question from now on. If `read` throws, this process gives no answer. */
  answer(question: string, read: () => unknown): void;
};

/** @returns undefined in a single process */
export function openSiblings(): Siblings | undefined {
  if (!cluster.isWorker) return undefined;
  const readers = new Map<string, () => unknown>();
  const waiting = new Map<number, (answers: unknown[]) => void>();
  let asked = 0;
  // If the supervisor is gone, this process ends too, so a failure to send does not matter.
  const send = (message: ProcessSays) => process.send?.(message, undefined, undefined, () => {});

  async function answerTo(id: number, question: string): Promise<void> {
    const read = readers.get(question);
    if (!read) return;
    try {
      send({ kind: 'answer', id, answer: await read() });
    } catch {
      // The supervisor does without this answer.
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
    announce: (port) => send({ kind: 'ready', port }),
    ask<Answer>(question: string) {
      const { promise, resolve } = Promise.withResolvers<unknown[]>();
      waiting.set(++asked, resolve);
      send({ kind: 'ask', id: asked, question });
      return promise as Promise<Answer[]>;
    },
    answer: (question, read) => void readers.set(question, read),
  };
}
