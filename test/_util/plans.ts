/** A part of a plan of PostgreSQL, as `explain (format json)` writes it. */
export type Plan = { 'Index Cond'?: string; 'Index Name'?: string; 'Relation Name'?: string; Plans?: Plan[] };

/** A plan and all parts below it. */
export const partsOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(partsOf)];
