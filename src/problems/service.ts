/**
 * Problems of rooms (contract 9). A **problem** is what somebody has reported at a door sign: of which kind it is, and perhaps a
 * few words. It is **open** until an Admin has settled it, who may open it again.
 *
 * Invariants:
 * - A report that a display sends again under the same key is stored once, whenever it comes.
 * - A display reports of the rooms of its grant alone, and has at most `mostOpen` open ones: nobody floods the list from a door.
 * - Problems that were settled are kept for `Limits.ProblemDays`.
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
