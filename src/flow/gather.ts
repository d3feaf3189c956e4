/**
 * What is asked for within one turn of the event loop, by whomever, is answered together, such as by one statement. Nothing is
 * kept once it is answered.
 *
 * Not dataloader: without its cache it asks for the same twice, and it has no limit on how many batches run at a time.
 */
type OpenQuestion<Question, Answer> = { question: Question; answer: PromiseWithResolvers<Answer> };

/** The same key within one turn is asked once, and its answer shared by all who ask. */
export type Gathering<Question, Answer> = (key: string, question: Question) => Promise<Answer>;

/**
 * @param answerAll gives the answers in the order of the questions; its failure is that of all who ask
 * @param mostAtOnce calls of it that run at a time; meanwhile the next one gathers
 */
export function openGathering<Question, Answer>(
  answerAll: (questions: readonly Question[]) => Promise<readonly Answer[]>,
  mostAtOnce = Number.POSITIVE_INFINITY,
): Gathering<Question, Answer> {
  let gathered = new Map<string, OpenQuestion<Question, Answer>>();
  let isScheduled = false;
  let running = 0;

  async function run(): Promise<void> {
    const all = [...gathered.values()];
    // A map that is cleared would keep what it held reachable until the next full collection.
    gathered = new Map();
    isScheduled = false;
    running++;
    try {
      const answers = await answerAll(all.map(({ question }) => question));
      for (const [index, { answer }] of all.entries()) answer.resolve(answers[index] as Answer);
    } catch (error) {
      for (const { answer } of all) answer.reject(error);
    }
    running--;
    schedule();
  }

  function schedule(): void {
    if (isScheduled || running >= mostAtOnce || gathered.size === 0) return;
    isScheduled = true;
    setImmediate(run);
  }

  return (key, question) => {
    let asked = gathered.get(key);
    if (!asked) gathered.set(key, (asked = { question, answer: Promise.withResolvers() }));
    schedule();
    return asked.answer.promise;
  };
}
