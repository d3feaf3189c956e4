/** The problems of rooms that were reported at door signs and are not settled; for Admins. */
import { ask, pages } from './client.ts';
import { OpenProblemsDocument, type OpenProblemsQuery, ProblemNewsDocument } from './generated/graphql.ts';
import { useAsked } from './parts/asked.ts';
import { useRefresh } from './parts/refresh.ts';
import { person } from './session.ts';

export type Problem = NonNullable<OpenProblemsQuery['roomProblems']>['nodes'][number];

export async function readOpenProblems(stop: AbortSignal): Promise<Problem[]> {
  const problems: Problem[] = [];
  for await (const some of pages(async (after) => (await ask(OpenProblemsDocument, { after }, stop)).roomProblems))
    problems.push(...some);
  return problems;
}

/** The number of open problems by the key that `keyOf` returns; empty unless the viewer is an Admin. */
export function useProblemCounts(keyOf: (problem: Problem) => string): ReadonlyMap<string, number> {
  const isAdmin = person.value?.role === 'Admin';
  const { data = [], reload } = useAsked(async (stop) => (isAdmin ? await readOpenProblems(stop) : []), []);
  useRefresh(reload, ...(isAdmin ? [ProblemNewsDocument] : []));
  const counts = new Map<string, number>();
  for (const problem of data) counts.set(keyOf(problem), (counts.get(keyOf(problem)) ?? 0) + 1);
  return counts;
}
