/**
 * Gathers the questions of all callers within one turn of the event loop, so that one statement answers them. No answer is
 * cached.
 *
 * Not dataloader: without its cache it does not merge equal keys, and it does not limit how many batches run at a time.
 */
import { workFor } from './working.ts';

type OpenQuestion<Question, Answer> = { question: Question; answer: PromiseWithResolvers<Answer> };

/** Asks a question. Calls with the same key within one turn share one question and its answer. */
export type Gathering<Question, Answer> = (key: string, question: Question) => Promise<Answer>;

/**
 * @param answerAll returns the answers, or promises of them, in the order of the questions. A promise that rejects fails its own
 * question alone; if `answerAll` itself fails, all its questions do
 * @param mostAtOnce the most concurrent calls of `answerAll`; further questions are gathered meanwhile
 */
export function openGathering<Question, Answer>(
  answerAll: (questions: readonly Question[]) => Promise<readonly (Answer | PromiseLike<Answer>)[]>,
  mostAtOnce = Number.POSITIVE_INFINITY,
): Gathering<Question, Answer> {
  let gathered = new Map<string, OpenQuestion<Question, Answer>>();
  let isScheduled = false;
  let running = 0;

  async function run(): Promise<void> {
    const all = [...gathered.values()];
    // A new map: a cleared one keeps what it held reachable until the next full garbage collection.
    gathered = new Map();
    isScheduled = false;
    running++;
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
    if (!asked) gathered.set(key, (asked = { question, answer: Promise.withResolvers() }));
    schedule();
    return asked.answer.promise;
  };
}
