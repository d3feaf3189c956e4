/**
 * Gathers the queries ("questions") of all callers within one turn of the event loop, so that one statement answers
 * them. Nothing is cached.
 *
 * Not dataloader: without its cache it does not merge equal keys, and it does not limit how many batches run at a time.
 */
import { tenantNow, workFor } from './working.ts';

type OpenQuestion<Question, Answer> = { question: Question; answer: PromiseWithResolvers<Answer> };

/** Asks a question. Calls with the same key within one turn share one question and its answer. */
export type Gathering<Question, Answer> = (key: string, question: Question) => Promise<Answer>;

/**
 * @param answerAll returns the answers, or promises of them, in the order of the questions. A promise that rejects
 * fails only its own question; if `answerAll` itself fails, all its questions fail
 * @param limits the most concurrent calls of `answerAll`, and the most questions of each; further questions wait, and
 * the tenants take turns
 */
export function openGathering<Question, Answer>(
  answerAll: (questions: readonly Question[]) => Promise<readonly (Answer | PromiseLike<Answer>)[]>,
  limits: { mostAtOnce?: number; mostTogether?: number } = {},
): Gathering<Question, Answer> {
  const { mostAtOnce = Number.POSITIVE_INFINITY, mostTogether = Number.POSITIVE_INFINITY } = limits;
  type Open = OpenQuestion<Question, Answer> & { key: string };
  let gathered = new Map<string, Open>();
  /** Waiting questions by tenant, in the order of the tenants' turns. */
  let waiting = new Map<number | undefined, Open[]>();
  let isScheduled = false;
  let running = 0;

  function takeNext(): Open[] {
    if (gathered.size <= mostTogether) {
      const all = [...gathered.values()];
      // A new map: a cleared one keeps its former content reachable until the next full garbage collection.
      gathered = new Map();
      waiting = new Map();
      return all;
    }
    const taken: Open[] = [];
    // A tenant that is put behind the others comes again.
    for (const [tenant, open] of waiting) {
      if (taken.length === mostTogether) break;
      const next = open.shift() as Open;
      gathered.delete(next.key);
      taken.push(next);
      waiting.delete(tenant);
      if (open.length > 0) waiting.set(tenant, open);
    }
    return taken;
  }

  async function run(): Promise<void> {
    const all = takeNext();
    isScheduled = false;
    running++;
    schedule();
    try {
      const answers = await answerAll(all.map(({ question }) => question));
      for (const [index, { answer }] of all.entries()) answer.resolve(answers[index] as Answer | PromiseLike<Answer>);
    } catch (error) {
      for (const { answer } of all) answer.reject(error);
    }
    running--;
    schedule();
  }

  function schedule(): void {
    if (isScheduled || running >= mostAtOnce || gathered.size === 0) return;
    isScheduled = true;
    workFor(undefined, () => setImmediate(run));
  }

  return (key, question) => {
    let asked = gathered.get(key);
    if (!asked) {
      gathered.set(key, (asked = { key, question, answer: Promise.withResolvers() }));
      const tenant = tenantNow();
      const open = waiting.get(tenant);
      if (open) open.push(asked);
      else waiting.set(tenant, [asked]);
    }
    schedule();
    return asked.answer.promise;
  };
}
