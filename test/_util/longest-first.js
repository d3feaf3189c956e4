import Sequencer from '@jest/test-sequencer';

/**
 * Runs the slowest test files first: those that wait longest or start most programs. Jest itself knows them only from earlier
 * runs, which a fresh clone lacks.
 */
const longest = [
  'lessons/takeover',
  'db/liveness',
  'house/faults',
  'house/benches',
  'house/lifecycle',
  'lessons/crash',
  'lessons/trouble',
  'lessons/races',
  'lessons/order',
  'mail/worker',
  'mail/model',
  'api/scenarios',
  'web/door-sign',
  'house/fuzz',
  'graphql/hardening',
].map((file) => `/test/${file}.test.ts`);

const rankOf = ({ path }) => {
  const rank = longest.findIndex((end) => path.endsWith(end));
  return rank < 0 ? longest.length : rank;
};

export default class LongestFirst extends Sequencer {
  sort(tests) {
    return [...super.sort(tests)].sort((one, other) => rankOf(one) - rankOf(other));
  }
}
