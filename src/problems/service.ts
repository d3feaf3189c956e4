/**
 * Problems of rooms (contract 9). A **problem** is what somebody has reported at a door sign: its kind, and possibly a few words.
 * It is **open** until an Admin settles it, and may be reopened.
 *
 * Invariants:
 * - A report that is repeated with the same key is stored once, however late it comes.
 * - A display reports only problems of rooms in its grant, and has at most `mostOpen` open ones, so that nobody floods the list
 *   from a door.
 * - Settled problems are kept for `Limits.ProblemDays`.
 */
export { forgetProblems, problemFigures } from './keeping.ts';
export {
  changeProblem,
  findProblem,
  getProblem,
  listProblems,
  problemList,
  problemTopic,
  watchProblems,
} from './problems.ts';
export { mostOpen, reportProblem } from './reporting.ts';
